//go:build chromium

package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

// axe is axe-core, at the version of internal/edge/ui/package.json.
//
//go:embed testdata/axe.js.gz
var axe []byte

// knownFindings are the WCAG A and AA rules of axe that Scalar breaks, all in parts
// that have another name or another way to the same end.
var knownFindings = []string{
	"aria-input-field-name", // the editor of the body has no name
	"aria-prohibited-attr",  // "More Information" buttons have the role none
	"aria-valid-attr-value", // buttons name a panel that is not on the page while it is closed
	"aria-required-attr",    // the editors of headers and parameters are comboboxes without a list
	"button-name",           // the buttons that copy a sample have only an icon
	"target-size",           // the buttons that open groups in the sidebar measure 22 pixels
}

// backgrounds are the colors of the page.
var backgrounds = map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(15, 15, 15)"}

// TestDocs tests the page at /docs in Chromium, by keyboard only.
func TestDocs(t *testing.T) {
	browser := start(t)
	found := map[string]bool{}
	for _, test := range []struct {
		name    string
		prefix  string // of a proxy
		schemes []string
		size    chromedp.Action[chromedp.Void]
		width   int
	}{
		{"desktop", "/shop", []string{"light", "dark"}, chromedp.EmulateViewport(1280, 800), 1280},
		{"phone", "", []string{"dark"}, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), 390},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newTab(t, browser)
			p.do(test.size)
			p.prefer(test.schemes[0])
			origin := serve(t, test.prefix, "")
			p.do(chromedp.Navigate(origin + "/docs/#/pets/createPet"))
			p.until(firstOperations())
			p.loadAxe()
			check := func(part string) {
				for _, scheme := range test.schemes {
					p.prefer(scheme)
					p.until(`getComputedStyle(document.querySelector(".references-layout")).backgroundColor === "` + backgrounds[scheme] + `"`)
					p.findings(part, found)
				}
				if got := eval[int](p, `document.documentElement.scrollWidth`); got != test.width {
					t.Errorf("width of the page: got %d pixels, want %d", got, test.width)
				}
			}
			check("document")
			p.wantReadableTables()
			p.wantAddresses(origin + "/v1")
			p.tabTo(`a.placeholder === "Token"`)
			p.do(chromedp.KeyEvent(program.Key))
			p.tabTo(`a.matches('[id$="tag/pets/createPet"] .show-api-client-button')`)
			p.do(chromedp.KeyEvent(kb.Enter))
			p.until(request)
			p.create(`{"name":"Frank","categoryId":9007199254740993}`, `"categoryId":9007199254740993`)
			check(request)
			p.wantPrivate()
		})
	}
	for _, rule := range knownFindings {
		if !found[rule] {
			t.Errorf("accessibility: got no finding of %s, want it out of knownFindings", rule)
		}
		delete(found, rule)
	}
	if len(found) > 0 {
		t.Errorf("accessibility: got findings of %v, want none", slices.Collect(maps.Keys(found)))
	}
	t.Run("public address", func(t *testing.T) {
		const public = "https://pets.example/v1"
		p := newTab(t, browser)
		p.do(chromedp.Navigate(serve(t, "", public) + "/docs#/pets/createPet"))
		p.until(firstOperations())
		p.wantAddresses(public)
		if got := eval[string](p, `document.body.innerText`); !strings.Contains(got, "Server:\n"+public) {
			t.Errorf("got %s, want the server %s", got, public)
		}
	})
	t.Run("deprecation", func(t *testing.T) {
		origin := serve(t, "", "")
		res, err := http.Get(origin + "/v1/pets/1")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		target, _, _ := strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<"), ">")
		p := newTab(t, browser)
		p.do(chromedp.Navigate(origin + target))
		const place = `document.querySelector('[id$="tag/pets/getPet"]')`
		p.until(`Math.abs(` + place + `?.getBoundingClientRect().top) < 200`)
		for _, want := range []string{"Deprecated\n", "Get a pet", "5 December 2030"} {
			if got := eval[string](p, place+`.innerText`); !strings.Contains(got, want) {
				t.Errorf("at %s: got %q, want %q in it", target, got, want)
			}
		}
	})
}

// serve starts the service behind a proxy that strips prefix.
func serve(t *testing.T, prefix, public string) (url string) {
	t.Helper()
	st := memory.New()
	ring, err := keys.NewKeyring(st, []string{program.Key})
	if err != nil {
		t.Fatal(err)
	}
	h, err := service.NewServer(st, ring, edge.Options{PublicURL: public})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", http.StripPrefix(prefix, h))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + prefix
}

// start starts the browser that all tests share.
func start(t *testing.T) context.Context {
	t.Helper()
	// Chromium has no sandbox for root.
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is a browser tab with its own storage.
type tab struct {
	*testing.T
	ctx context.Context
}

// newTab opens a tab and fails the test if anything appears on its console, such
// as violations of the Content-Security-Policy and failed requests.
func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx}
	p.do()
	console, closed := chromedp.Console(ctx), make(chan struct{})
	go func() {
		defer close(closed)
		for m, err := range console {
			if err != nil {
				return // the tab is closed
			}
			if m.Type != chromedp.ConsoleInfo { // Scalar's version
				t.Errorf("console: got %s, want nothing", m)
			}
		}
	}()
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		<-closed
	})
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression, awaiting it if it is a
// promise.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// until waits until a JavaScript condition holds. The page's
// Content-Security-Policy does not allow chromedp.Poll.
func (p *tab) until(condition string) {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); !eval[bool](p, "Boolean("+condition+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("%s never held; the page ends with %s", condition, eval[string](p, `document.body.innerText.slice(-1500)`))
		}
	}
}

// prefer sets the user's preferred color scheme.
func (p *tab) prefer(scheme string) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		p.Fatal(err)
	}
}

// The window from which a request is sent, without whitespace in the response.
const (
	request      = `document.querySelector(".scalar-client[role=dialog]")`
	responseBody = `document.querySelector('.scalar-client .response-section-content-body .cm-content')`
	responseText = `(` + responseBody + `?.innerText ?? "").replace(/\s/g, "")`
)

// tabTo presses Tab until the focused element a satisfies a condition.
func (p *tab) tabTo(condition string) {
	p.Helper()
	for range 300 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if eval[bool](p, "((a) => "+condition+")(document.activeElement)") {
			return
		}
	}
	p.Fatalf("no element with %s has the focus after 300 Tabs", condition)
}

// create replaces the body and sends it until the response contains want, because the
// editor applies text with a delay. Typed letter by letter, half a body could be sent.
func (p *tab) create(body, want string) {
	p.Helper()
	p.tabTo(`a.matches(".scalar-client .cm-content")`)
	p.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: body}); err != nil {
		p.Fatal(err)
	}
	for id := 1; !eval[bool](p, responseText+fmt.Sprintf(`.includes(%q)`, want)); id++ {
		if id > 10 {
			p.Fatalf("response: got %s, want %s in it", eval[string](p, responseText), want)
		}
		p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		p.until(responseText + fmt.Sprintf(`.includes('{"id":%d,')`, id))
	}
}

// wantReadableTables checks that no table is cut off and no code in one is broken.
func (p *tab) wantReadableTables() {
	p.Helper()
	const broken = `[...document.querySelectorAll(".markdown table")].flatMap((table) =>
		[...table.querySelectorAll("td:first-child code")].filter((c) => c.getClientRects().length > 1 ||
			table.getBoundingClientRect().right > table.closest(".markdown").getBoundingClientRect().right + 1)).map((c) => c.innerText)`
	if got := eval[[]string](p, broken); len(got) > 0 {
		p.Errorf("tables: got %v broken or cut off, want none", got)
	}
}

// wantAddresses checks that every sample has the address that clients use, and
// that the page leads to the document.
func (p *tab) wantAddresses(base string) {
	p.Helper()
	samples := eval[[]string](p, `[...document.querySelectorAll(".scalar-card:has(.show-api-client-button)")].map((e) => e.innerText)`)
	if len(samples) != 3 {
		p.Errorf("samples: got %q, want 3", samples)
	}
	for _, sample := range samples {
		if !strings.Contains(sample, base+"/pets") {
			p.Errorf("sample: got %q, want the address %s in it", sample, base)
		}
	}
	if got := eval[string](p, `document.body.innerText`); strings.Contains(got, "127.0.0.1:8080") {
		p.Error("the page has the address 127.0.0.1:8080, want none")
	}
	const links = `(async () => Promise.all([...document.querySelectorAll('.markdown a[href^="openapi."]')].map(async (a) => (await fetch(a.href)).status + " " + a.innerText)))()`
	if got, want := eval[[]string](p, links), []string{"200 openapi.yaml", "200 openapi.json"}; !slices.Equal(got, want) {
		p.Errorf("links to the document: got %q, want %q", got, want)
	}
}

// wantPrivate checks that nothing that outlives the page holds the key, and that
// no request went to another origin.
func (p *tab) wantPrivate() {
	p.Helper()
	stored := eval[string](p, `(async () => JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage},
		await indexedDB.databases(), await caches.keys()]))()`)
	if strings.Contains(stored, program.Key) || !strings.HasSuffix(stored, ",[],[]]") {
		p.Errorf("storage: got %s, want no API key, database or cache", stored)
	}
	const others = `performance.getEntriesByType("resource").map((e) => e.name).filter((name) => new URL(name).origin !== location.origin)`
	if got := eval[[]string](p, others); len(got) > 0 {
		p.Errorf("requests to other origins: got %v, want none", got)
	}
}

func (p *tab) loadAxe() {
	p.Helper()
	r, err := gzip.NewReader(bytes.NewReader(axe))
	if err != nil {
		p.Fatal(err)
	}
	code, err := io.ReadAll(r)
	if err != nil {
		p.Fatal(err)
	}
	eval[any](p, string(code)+"; null")
}

// findings adds the WCAG A and AA rules that a part of the page breaks.
func (p *tab) findings(part string, found map[string]bool) {
	p.Helper()
	for _, rule := range eval[[]string](p, `document.getAnimations().forEach((a) => { try { a.finish() } catch { } }),
		axe.run(`+part+`, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] })
		.then(({ violations }) => violations.map(({ id }) => id))`) {
		found[rule] = true
	}
}

// firstOperations holds once the page shows the operations of the document, or the
// first three: it shows others only when they are scrolled to.
func firstOperations() string {
	n := 0
	for _, item := range example.Document().Paths.Map() {
		n += len(item.Operations())
	}
	return fmt.Sprintf(`document.querySelectorAll(".show-api-client-button").length >= %d`, min(n, 3))
}
