//go:build chromium

package served_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/petstoretest"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"example.com/petstore/internal/pets"
)

// TestTheDocs uses the page at /docs as a person does, in a real browser.
func TestTheDocs(t *testing.T) {
	browser := newBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"create and list for a person, and forget the key", theDocsCreateAndList},
		{"explain a deprecation where its Link leads", theDocsExplainADeprecation},
		{"follow the color scheme that the reader prefers", theDocsFollowTheColorScheme},
		{"are used by the keyboard alone", theDocsAreUsedByTheKeyboard},
		{"work behind a proxy that puts them deeper", theDocsWorkBehindAProxy},
		{"can be read by everybody", theDocsCanBeReadByEverybody},
		{"show text in the search, and every status", theDocsShowTextAndEveryStatus},
		{"bring the response into view on a phone", theDocsBringTheResponseIntoView},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

// visit loads an address and waits until the page is all there.
func (p *tab) visit(address string) {
	p.Helper()
	p.do(chromedp.Navigate(address), chromedp.WaitVisible(operation("listPets", ".show-api-client-button")))
}

// operation selects a part of an operation of the page.
func operation(id, part string) chromedp.CSS {
	return chromedp.CSS(fmt.Sprintf(`[id$="tag/pets/%s"] %s`, id, part))
}

// authorize enters the API key as a person does.
func (p *tab) authorize() {
	p.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS("input[placeholder=Token]"), key))
}

// openRequest opens the window from which an operation's request is sent.
func (p *tab) openRequest(id string) {
	p.Helper()
	p.do(chromedp.Click(operation(id, ".show-api-client-button")))
	p.until(request + ` && ` + sendButton)
}

// closeRequest closes the window.
func (p *tab) closeRequest() {
	p.Helper()
	eval[any](p, `[...document.querySelectorAll("button")].find((b) => b.textContent.includes("Close Client")).click()`)
	p.until("!" + request + "?.getClientRects().length")
}

const (
	request = `document.querySelector(".scalar-client[role=dialog]")`
	// requestText is its text, with a space for each gap, which may be of any kind.
	requestText = request + `.innerText.replace(/\s+/g, " ")`
	sendButton  = `[...document.querySelectorAll(".scalar-client[role=dialog] button")].find((b) => b.textContent.includes(" request to "))`
)

// send sends the request of the window and waits until it shows all of these.
func (p *tab) send(wants ...string) {
	p.Helper()
	eval[any](p, sendButton+`.click()`)
	for _, want := range wants {
		p.until(requestText + fmt.Sprintf(".includes(%q)", want))
	}
}

// write replaces the body of the request.
func (p *tab) write(body string) {
	p.Helper()
	const editor = `.scalar-client .cm-content[aria-label="Request body"]`
	p.do(chromedp.WaitVisible(chromedp.CSS(editor)), chromedp.Focus(chromedp.CSS(editor)),
		chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	call(p, input.InsertText, input.InsertTextParams{Text: body})
}

// wantNoKey looks for the key in all that a page can leave behind.
func (p *tab) wantNoKey(when string) {
	p.Helper()
	kept := eval[string](p, `(async () => JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage},
		await indexedDB.databases(), await caches.keys(), [...document.querySelectorAll("a")].map((a) => a.href)]))()`)
	if strings.Contains(kept, key) {
		p.Errorf("%s: got %s, want no API key in it", when, kept)
	}
	if databases := eval[int](p, `indexedDB.databases().then((all) => all.length)`); databases > 0 {
		p.Errorf("%s: got %d databases, want none", when, databases)
	}
}

func theDocsCreateAndList(t *testing.T, browser context.Context) {
	s := start(t)
	p := open(t, browser, s.URL+"/docs", "light", desk)
	p.wantBrightness("light from the start", 0.8, 0.99)
	p.wantNoKey("at first")
	p.authorize()

	p.openRequest("createPet")
	p.write(`{"name":"Frank","categoryId":9007199254740993}`)
	// The page takes the text over in its own time, so the request is sent until
	// it has. The space after the colon is the response's.
	const whole = `"categoryId": 9007199254740993`
	for id := 1; !eval[bool](p, requestText+fmt.Sprintf(".includes(%q)", whole)); id++ {
		p.send("201 Created", fmt.Sprintf(`"id": %d,`, id), `"name": "Frank"`)
	}
	p.closeRequest()
	p.openRequest("listPets")
	p.send("200 OK", `"id": 1,`, whole)
	p.wantNoKey("after requests")
	p.closeRequest()

	p.do(chromedp.Reload(), chromedp.WaitVisible(operation("listPets", ".show-api-client-button")))
	if page := eval[string](p, `document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((i) => i.value)`); strings.Contains(page, key) {
		t.Error("the page, loaded again: got the API key in it, want it forgotten")
	}
}

func theDocsExplainADeprecation(t *testing.T, browser context.Context) {
	s := start(t)
	link := s.get(t, petsPath+"/1").Header.Get("Link")
	target, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	p := open(t, browser, s.URL+target, "light", desk)
	const heading = `document.querySelector('[id$="tag/pets/getPet"]')`
	p.until(`Math.abs(` + heading + `.getBoundingClientRect().top) < 200`)
	wantAll(t, "the place "+target, eval[string](p, heading+`.innerText`),
		"deprecated, removed on 5 December 2030, use GET /pets", "with a status filter", "Get an animal")
	if n := eval[int](p, `[...document.querySelectorAll(".section .badge")].filter((b) => b.textContent.startsWith("deprecated, ")).length`); n != 1 {
		t.Errorf("operations marked as deprecated: got %d, want getPet alone", n)
	}
}

func theDocsFollowTheColorScheme(t *testing.T, browser context.Context) {
	s := start(t)
	p := open(t, browser, s.URL+"/docs", "dark", desk)
	p.wantBrightness("dark", 0.02, 0.3)
	p.prefer("light")
	p.until(`document.body.classList.contains("light-mode")`) // the page hears of it in its own time
	p.until(`getComputedStyle(document.querySelector(".references-layout")).backgroundColor !== "rgb(15, 15, 15)"`)
	p.wantBrightness("light", 0.8, 0.99)
}

func (p *tab) wantBrightness(preferred string, least, most float64) {
	p.Helper()
	if light := brightness(p.T, read(p, chromedp.CaptureScreenshot())); light < least || light > most {
		p.Errorf("brightness where %s is preferred: got %.2f, want %.2f to %.2f", preferred, light, least, most)
	}
}

func theDocsAreUsedByTheKeyboard(t *testing.T, browser context.Context) {
	s := start(t)
	p := open(t, browser, s.URL+"/docs", "light", desk)
	p.tabTo(`document.activeElement.placeholder === "Token"`)
	p.do(chromedp.KeyEvent(key))
	p.tabTo(`document.activeElement.matches('[id$="tag/pets/listPets"] .show-api-client-button')`)
	p.do(chromedp.KeyEvent("\r"))
	p.until(request + ` && ` + sendButton)
	p.tabTo(`document.activeElement === ` + sendButton)
	p.do(chromedp.KeyEvent("\r"))
	p.until(requestText + `.includes("200 OK")`)
	p.closeRequest()
}

// tabTo presses Tab until a condition on the focus holds. Each element on the
// way must show that it has the focus.
func (p *tab) tabTo(condition string) {
	p.Helper()
	for range 200 {
		p.do(chromedp.KeyEvent("\t"))
		if hidden := eval[string](p, focusUnseen); hidden != "" {
			p.Errorf("outline of %s: got none, want to see that it has the focus", hidden)
		}
		if eval[bool](p, condition) {
			return
		}
	}
	p.Fatalf("%s: got it never, want the focus to come there", condition)
}

// focusUnseen is the element that has the focus and does not show it, or "".
const focusUnseen = `(() => {
	const e = document.activeElement
	if (e === document.body) return ""
	const shows = (style) => style.outlineStyle !== "none" || style.boxShadow !== "none"
	const around = [e, e.parentElement, e.parentElement.parentElement, ...e.children]
	return around.some((a) => shows(getComputedStyle(a)) || shows(getComputedStyle(a, "::before")) || shows(getComputedStyle(a, "::after")))
		|| e.closest(".cm-editor") ? "" : e.outerHTML.slice(0, 300)
})()`

func theDocsWorkBehindAProxy(t *testing.T, browser context.Context) {
	s := start(t, func(c *petstoretest.Config) { c.PublicURL = "https://pets.example.com/shop" + web.BasePath })
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/shop")
	}})
	t.Cleanup(proxy.Close)
	p := open(t, browser, proxy.URL+"/shop/docs/", "light", desk)
	for i, path := range []string{"/shop/docs/", "/shop/docs"} {
		if i > 0 {
			p.visit(proxy.URL + path)
		}
		wantAll(t, path, eval[string](p, `document.body.innerText`), proxy.URL+"/shop/v1")
		p.authorize()
		p.openRequest("createPet")
		p.send("201 Created")
		page, err := s.store.Pets(context.Background(), pets.Query{Limit: 10})
		if err != nil || len(page.Pets) != i+1 {
			t.Errorf("pets after a create at %s: got %v (%v), want %d", path, page.Pets, err, i+1)
		}
		p.closeRequest()
	}
}

func theDocsShowTextAndEveryStatus(t *testing.T, browser context.Context) {
	s := start(t)
	p := open(t, browser, s.URL+"/docs", "light", desk)
	const results = `[...document.querySelectorAll("[role=option][id^=search-result-]")].map((e) => e.innerText).join(" ")`
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.until(`document.activeElement.tagName === "INPUT" && document.activeElement.placeholder !== "Token"`)
	p.do(chromedp.KeyEvent("errors"))
	p.until(results + `.includes("Every response that is not a success carries an")`)
	p.until(`!/[\x60]|\*\*/.test(` + results + `)`)
	p.do(chromedp.KeyEvent("\x1b"))

	// The tabs of all statuses lie within the card, none below another element.
	const tabs = `[...document.querySelectorAll('[id$="tag/pets/createPet"] .tab-list [role=tab]')]`
	p.until(tabs + `.length === 10`)
	eval[any](p, tabs+`[0].scrollIntoView({ block: "center" })`)
	p.until(tabs + `.every((tab) => {
		const box = tab.getBoundingClientRect()
		return tab.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2))
	})`)
}

func theDocsBringTheResponseIntoView(t *testing.T, browser context.Context) {
	s := start(t)
	p := open(t, browser, s.URL+"/docs", "dark", phone)
	p.authorize()
	p.openRequest("createPet")
	p.send("201 Created")
	p.until(`(() => {
		const body = document.querySelector('.scalar-client .cm-content[aria-label="Response body"]')
		const box = body?.getBoundingClientRect()
		return box && body.contains(document.elementFromPoint(box.x + 20, box.y + 20))
	})()`)

	// The heading stays where it is, and no row that scrolls below is seen in it.
	p.until(`[...document.querySelectorAll(".scalar-client table")].map((table) => {
		table.scrollIntoView({ block: "start" })
		const box = document.querySelector(".scalar-client .request-response-header").getBoundingClientRect()
		return document.elementFromPoint(box.x + 20, box.y + box.height / 2)
	}).every((e) => e.closest(".request-response-header"))`)
}

// theDocsCanBeReadByEverybody holds the page against axe-core's rules and the
// width of the window: as it opens, with all of it unfolded, and with a request
// that is about to be sent and has been. The window of the request lies before
// the page, which was judged by then, so it alone is judged.
func theDocsCanBeReadByEverybody(t *testing.T, browser context.Context) {
	axe := axeCore(t)
	for _, width := range []int64{desk, phone} {
		t.Run(fmt.Sprintf("at %d pixels", width), func(t *testing.T) {
			s := start(t)
			p := open(t, browser, s.URL+"/docs", "light", width)
			eval[any](p, axe+"; null")
			p.wantReadable("as it opens", "document", width)
			if broken := eval[[]string](p, brokenCells); len(broken) > 0 {
				t.Errorf("codes of the errors: got %q over several lines or beyond the text, want each on one line", broken)
			}
			p.authorize()
			eval[any](p, `document.querySelectorAll(".section button[aria-expanded=false]:not([aria-haspopup]):not([id*=popover])").forEach((b) => b.click())`)
			p.wantReadable("unfolded", "document", width)
			p.openRequest("createPet")
			p.wantReadable("with a request", request, width)
			p.send("201")
			p.wantReadable("with a response", request, width)
		})
	}
}

// brokenCells are the codes of errors that take more than a line, or lie beyond the
// width of the text.
const brokenCells = `[...document.querySelectorAll(".markdown td:nth-child(2) > code")].filter((code) => {
	const edge = code.closest(".markdown").getBoundingClientRect().right
	return code.getClientRects().length > 1 || code.closest("table").getBoundingClientRect().right > edge + 1
}).map((code) => code.innerText)`

// axeCore returns the code of axe-core, which `make docs-ui` takes from npm.
func axeCore(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../edge/docs/testdata/axe.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	code, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(code)
}

// wantReadable wants of a part of the page no fault that axe-core calls serious or
// critical, in light and in dark colors, and nothing wider than the window. The
// dark page differs in its colors alone, so the rules on colors judge it.
func (p *tab) wantReadable(when, part string, width int64) {
	p.Helper()
	p.judge(when, part, `{}`)
	p.prefer("dark")
	p.until(`document.body.classList.contains("dark-mode")`)
	p.judge(when+", dark", part, `{ runOnly: ["color-contrast", "link-in-text-block"] }`)
	p.prefer("light")
	p.until(`document.body.classList.contains("light-mode")`)
	if got := eval[int64](p, `document.documentElement.scrollWidth`); got != width {
		p.Errorf("width %s: got %d pixels, want %d", when, got, width)
	}
}

// judge holds a part of the page against the rules of axe-core that options choose.
func (p *tab) judge(when, part, options string) {
	p.Helper()
	const judgment = `document.getAnimations().forEach((a) => { try { a.finish() } catch { } }),
		axe.run(%s, { ...%s, resultTypes: ["violations"] }).then(({ violations }) => violations
		.filter((v) => ["serious", "critical"].includes(v.impact))
		.map((v) => v.impact + ", " + v.id + ": " + v.nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary).slice(0, 3).join("; ")))`
	for _, fault := range eval[[]string](p, fmt.Sprintf(judgment, part, options)) {
		p.Errorf("%s: got %s, want nothing serious or critical", when, fault)
	}
}
