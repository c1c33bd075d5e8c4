//go:build chromium

package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// axe is axe-core, at the version of internal/edge/ui/package.json.
//
//go:embed testdata/axe.js.gz
var axe []byte

// backgrounds are the colors of the page.
var backgrounds = map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(15, 15, 15)"}

// TestDocs tests the page at /docs in Chromium.
func TestDocs(t *testing.T) {
	browser := start(t)
	for _, test := range []struct {
		name    string
		prefix  string // of a proxy
		schemes []string
		size    chromedp.Action[chromedp.Void]
		width   int
	}{
		{"desktop", "/shop", []string{"light", "dark"}, chromedp.EmulateViewport(1280, 800), 1280},
		{"phone", "", []string{"dark", "light"}, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), 390},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newTab(t, browser)
			p.do(test.size)
			p.prefer(test.schemes[0])
			p.do(chromedp.Navigate(serve(t, test.prefix)+"/docs/"), chromedp.WaitVisible(testButton("getPet")))
			p.loadAxe()
			check := func(part string) {
				for _, scheme := range test.schemes {
					p.prefer(scheme)
					p.until(`getComputedStyle(document.querySelector(".references-layout")).backgroundColor === "` + backgrounds[scheme] + `"`)
					p.wantAccessible(part)
				}
				if got := eval[int](p, `document.documentElement.scrollWidth`); got != test.width {
					t.Errorf("width of the page: got %d pixels, want %d", got, test.width)
				}
			}
			check("document")
			p.do(chromedp.SendKeys(chromedp.CSS("input[placeholder=Token]"), program.Key))
			p.do(chromedp.Click(testButton("createPet")))
			p.until(request + ` && ` + sendButton)
			p.wantAccessible(request)
			p.create(`{"name":"Frank","categoryId":9007199254740993}`, `"categoryId":9007199254740993`)
			check(request)
			p.wantPrivate()
		})
	}
	t.Run("deprecation", func(t *testing.T) {
		origin := serve(t, "")
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
		for _, want := range []string{"Deprecated\n", "Get an animal", "5 December 2030"} {
			if got := eval[string](p, place+`.innerText`); !strings.Contains(got, want) {
				t.Errorf("at %s: got %q, want %q in it", target, got, want)
			}
		}
	})
}

// serve starts the service behind a proxy that strips prefix.
func serve(t *testing.T, prefix string) (url string) {
	t.Helper()
	h, err := program.NewHandler(memory.New(), nil)
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
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
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
	for deadline := time.Now().Add(20 * time.Second); !eval[bool](p, "Boolean("+condition+")"); time.Sleep(20 * time.Millisecond) {
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

// testButton selects the button that opens the window of an operation.
func testButton(id string) chromedp.CSS {
	return chromedp.CSS(`[id$="tag/pets/` + id + `"] .show-api-client-button`)
}

// The window from which a request is sent, without whitespace in the response.
const (
	request      = `document.querySelector(".scalar-client[role=dialog]")`
	sendButton   = `[...document.querySelectorAll(".scalar-client[role=dialog] button")].find((b) => b.textContent.includes(" request to "))`
	responseBody = `document.querySelector('.scalar-client .cm-content[aria-label="Response body"]')`
	responseText = `(` + responseBody + `?.innerText ?? "").replace(/\s/g, "")`
)

// create sends a body until the response contains want, because the editor
// applies typed text with a delay. The response must come into view.
func (p *tab) create(body, want string) {
	p.Helper()
	editor := chromedp.CSS(`.scalar-client .cm-content[aria-label="Request body"]`)
	p.do(chromedp.WaitVisible(editor), chromedp.Focus(editor), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(body))
	for id := 1; !eval[bool](p, responseText+fmt.Sprintf(`.includes(%q)`, want)); id++ {
		if id > 10 {
			p.Fatalf("response: got %s, want %s in it", eval[string](p, responseText), want)
		}
		eval[any](p, sendButton+`.click()`)
		p.until(responseText + fmt.Sprintf(`.includes('{"id":%d,')`, id))
	}
	p.until(`(({ x, y }) => ` + responseBody + `.contains(document.elementFromPoint(x + 20, y + 20)))(` + responseBody + `.getBoundingClientRect())`)
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

// wantAccessible checks a part of the page against the WCAG A and AA rules.
func (p *tab) wantAccessible(part string) {
	p.Helper()
	for _, v := range eval[[]json.RawMessage](p, `document.getAnimations().forEach((a) => { try { a.finish() } catch { } }),
		axe.run(`+part+`, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] })
		.then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary) })))`) {
		p.Errorf("accessibility: got %s, want no violations", v)
	}
}
