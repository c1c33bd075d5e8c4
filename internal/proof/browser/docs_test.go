//go:build chromium

// Package browser tests the page at /docs in Chromium. `make test` runs it if Chromium is installed.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

// TestDocs tests what the page shows, where links lead, a request with a key, and the Tab key alone.
func TestDocs(t *testing.T) {
	t.Run("desktop", func(t *testing.T) { tryOperation(t, "/shop", 1280) })
	t.Run("phone", func(t *testing.T) { tryOperation(t, "", 390, chromedp.EmulateMobile) })
	t.Run("public address", func(t *testing.T) {
		p := newTab(t, "", "https://pets.example/v1")
		for _, item := range example.OpenAPI().Paths.Map() {
			if item.Get != nil && item.Get.Deprecated {
				p.do(chromedp.Navigate(p.url + "/docs#/" + id(item.Get)))
				p.until(fmt.Sprintf(`document.querySelector('[id$="tag/%s"]')?.innerText.includes("Deprecated\n")`, id(item.Get)))
			}
		}
		p.do(chromedp.Navigate(p.url + "/docs"))
		p.wantText("Server:\nhttps://pets.example/v1")
		button := fmt.Sprintf(`[id$="tag/%s"] .show-api-client-button`, id(example.Operations().Post))
		p.until(fmt.Sprintf("document.querySelector(%q)", button)) // without scrolling
		for n := 0; !eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", button)); n++ {
			require.Less(t, n, 200, "times Tab to the button")
			p.do(chromedp.KeyEvent(kb.Tab))
		}
	})
}

// tryOperation creates a pet on the page of a service behind a proxy that strips prefix.
func tryOperation(t *testing.T, prefix string, width int64, options ...chromedp.EmulateViewportOption) {
	p, create := newTab(t, prefix, ""), id(example.Operations().Post)
	p.do(chromedp.EmulateViewport(width, 800, options...), chromedp.Navigate(p.url+"/docs#/"+create))
	p.until(fmt.Sprintf(`Math.abs(document.querySelector('[id$="tag/%s"]:has(.show-api-client-button)')?.getBoundingClientRect().top) < 200`, create))
	assert.Equal(t, width, eval[int64](p, `document.documentElement.scrollWidth`), "width of the page")
	p.wantText(append(example.OpenAPI().Paths.InMatchingOrder(), "invalid_parameter", p.url+example.Base())...)
	const nameless = `[...document.querySelectorAll("a")].filter((a) => !a.ariaLabel && !a.innerText.trim()).map((a) => a.href).join()`
	assert.Empty(t, eval[string](p, nameless), "links without a name")
	const token = `document.querySelector("[placeholder=Token]").ariaLabelledByElements.length > 0 &&
		getComputedStyle(document.querySelector("[placeholder=Token]")).webkitTextSecurity === "disc"`
	assert.True(t, eval[bool](p, token), "the field for the token has a label, and hides it")
	p.do(
		chromedp.Focus(chromedp.CSS(`[placeholder="Token"]`)), chromedp.KeyEvent(program.Key),
		chromedp.Focus(chromedp.CSS(fmt.Sprintf(`[id$="tag/%s"] .show-api-client-button`, create))), chromedp.KeyEvent(kb.Enter),
	)
	const large = "9007199254740993" // JavaScript would round it
	integers := example.Integers(large)
	editor := chromedp.Focus(chromedp.CSS(".scalar-client .cm-content[aria-multiline=true]"))
	p.do(editor, chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	// Typed letter by letter, half a body could be sent.
	eval[bool](p, fmt.Sprintf("document.execCommand('insertText', false, %q)", example.BodyNamed(large, integers...)))
	const response = `(document.querySelector('.scalar-client .response-section-content-body .cm-content')` +
		`?.innerText ?? "").replace(/\s/g, "")`
	occurrences := fmt.Sprintf("%s.split(%q).length - 1", response, large)
	for n := 0; eval[int](p, occurrences) != len(integers)+1; n++ { // the editor applies text with a delay
		before := eval[string](p, response)
		require.Less(t, n, 10, "responses without %s %d times, as %s", large, len(integers)+1, before)
		p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		p.until(fmt.Sprintf(`(now => now.includes('"id":') && now !== %q)(%s)`, before, response))
	}
	const fixed = `(([body, form, hint]) => body.getBoundingClientRect().top < innerHeight - 100 && form.clientWidth <= innerWidth && getComputedStyle(hint).right === '70px')(
		['.response-section-content-body', '.request-section-content .cm-editor', '.scalar-client [role=alert]'].map((s) => document.querySelector(s)))`
	p.until(fixed) // by docs.css
	stored := eval[string](p, `(async () => JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, await indexedDB.databases()]))()`)
	assert.NotContains(t, stored, program.Key)
	assert.Regexp(t, `,\[\]\]$`, stored, "no database")
}

// id returns the end of the address of an operation on the page.
func id(o *openapi3.Operation) string { return o.Tags[0] + "/" + o.OperationID }

// tab is a browser with one tab, and the address of a service for it.
type tab struct {
	*testing.T
	ctx context.Context
	url string
}

// newTab starts a service behind a proxy that strips prefix, and a browser, which ends first: a page may go
// on loading after its test. The console must stay empty, so nothing violates the Content-Security-Policy.
func newTab(t *testing.T, prefix, public string) *tab {
	st, s := memory.New(), httptest.NewUnstartedServer(nil)
	url := "http://" + s.Listener.Addr().String() + prefix
	options := edge.Options{URL: url, PublicURL: public}
	h := example.Must(service.NewHandler(st, keys.NewKeyring(st, []string{program.Key}), options))
	s.Config.Handler = http.StripPrefix(prefix, h)
	s.Start()
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	// Chromium has no sandbox for root.
	ctx, _ = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	ctx, _ = chromedp.NewContext(ctx)
	p := &tab{T: t, ctx: ctx, url: url}
	p.do()
	console := chromedp.Console(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for m, err := range console {
			if err != nil {
				return // the tab is closed
			}
			assert.Equal(t, chromedp.ConsoleInfo, m.Type, "console: %s", m) // Scalar's version
		}
	})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		watch.Wait()
	})
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	require.NoError(p, chromedp.Do(p.ctx, steps...))
}

// eval returns the value of a JavaScript expression, awaiting it if it is a promise.
func eval[T any](p *tab, expression string) T {
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p, err, expression)
	return value
}

// until waits until a JavaScript condition holds. The page's policy does not allow chromedp.Poll.
func (p *tab) until(condition string) {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); !eval[bool](p, "Boolean("+condition+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("%s never held; the page ends with %s", condition, eval[string](p, `document.body.innerText.slice(-1500)`))
		}
	}
}

// wantText checks that the page has texts, and no address of the document.
func (p *tab) wantText(texts ...string) {
	for _, text := range texts {
		p.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
	p.until(`!document.body.innerText.includes("127.0.0.1:8080")`)
}
