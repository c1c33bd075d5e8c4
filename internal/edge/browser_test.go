//go:build chromium

package edge_test

import (
	"bytes"
	"context"
	"image/png"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"example.com/petstore/internal/contract"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/petstore"
)

// The page at /docs as a person has it, in a real browser. Whatever a test does
// there, the browser must have nothing to complain of, neither errors nor
// breaches of the Content-Security-Policy, and must ask nobody but the service.

// desk and phone are widths of a window, in CSS pixels.
const desk, phone = 1280, 390

// tab is a page of a browser.
type tab struct {
	*testing.T
	ctx    context.Context
	origin string

	mu         sync.Mutex
	complaints []string
}

// open opens an address of the service in a browser of its own.
func open(t *testing.T, address, prefers string, width int64) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience) // it starts a browser, which others may be doing too
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // root has none, and all it loads is ours
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{T: t, ctx: ctx, origin: u.Scheme + "://" + u.Host}
	p.watch()
	var device []chromedp.EmulateViewportOption
	if width == phone {
		device = append(device, chromedp.EmulateMobile)
	}
	p.do(chromedp.EmulateViewport(width, 844, device...))
	p.prefer(prefers)
	p.visit(address)
	return p
}

// prefer sets what the person prefers: light or dark.
func (p *tab) prefer(scheme string) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// visit loads an address and waits until the page is all there.
func (p *tab) visit(address string) {
	p.Helper()
	p.do(chromedp.Navigate(address), chromedp.WaitVisible(operation("listPets")))
}

// watch gathers what the browser complains of and whom else it asks, for the
// end of the test.
func (p *tab) watch() {
	call(p, network.Enable, network.EnableParams{})
	complain := func(what string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, what)
	}
	err := chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			if u := e.Request.URL; !strings.HasPrefix(u, p.origin+"/") && !strings.HasPrefix(u, "data:") {
				complain("a request to " + u)
			}
		}
	})
	if err != nil {
		p.Fatal(err)
	}
	console := chromedp.Console(p.ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return // the tab is closed
			}
			complain(m.String())
		}
	})
	p.Cleanup(func() {
		_ = chromedp.Cancel(p.ctx) // ends the console, too
		listening.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.complaints {
			p.Errorf("the browser: got %s, want no complaint and no request to others", c)
		}
	})
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.Fatal(err)
	}
}

// read returns what an action finds, or a JavaScript expression as eval has it.
func read[T any](p *tab, action chromedp.Action[T]) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// operation selects an operation of the page, or a part of it.
func operation(id string, parts ...string) chromedp.CSS {
	return chromedp.CSS(strings.Join(append([]string{"#operations-pets-" + id}, parts...), " "))
}

// authorize enters the API key as a person does.
func (p *tab) authorize() {
	p.Helper()
	p.do(
		chromedp.Click(chromedp.CSS(".auth-wrapper .authorize")),
		chromedp.SendKeys(chromedp.CSS("#auth-bearer-value"), key),
		chromedp.Click(chromedp.CSS(".auth-btn-wrapper .authorize")),
		chromedp.Click(chromedp.CSS(".auth-btn-wrapper .btn-done")),
	)
}

// press has a button do what it does on a click. It goes by the keyboard: the
// page scrolls by itself where an operation unfolds, away from under a pointer.
func press(button chromedp.CSS) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.WaitVisible(button), chromedp.Focus(button), chromedp.KeyEvent("\r"))
}

// unfold opens an operation. The page has the button that sends a body before
// it has the body.
func (p *tab) unfold(id string) {
	p.Helper()
	last := ".execute"
	if id == "createPet" {
		last = "textarea"
	}
	p.do(press(operation(id, ".opblock-summary-control")), chromedp.WaitVisible(operation(id, last)))
}

// execute sends the request of an operation and returns what the page shows of
// the response.
func (p *tab) execute(id string) string {
	p.Helper()
	p.do(press(operation(id, ".execute")))
	return read(p, chromedp.Text(operation(id, ".live-responses-table .response")))
}

func TestTheDocsCreateAndListForAPerson(t *testing.T) {
	s := start(t)
	p := open(t, s.URL+"/docs", "light", desk)
	if page := read(p, chromedp.OuterHTML(chromedp.CSS("html"))); strings.Contains(page, key) {
		t.Error("the page: got the API key in it before it was entered, want none")
	}
	p.authorize()

	p.unfold("createPet")
	read(p, chromedp.Evaluate[any](`document.querySelector("#operations-pets-createPet textarea").select()`)) // so that typing replaces the example
	p.do(chromedp.SendKeys(operation("createPet", "textarea"), `{"name":"Frank","categoryId":9007199254740993}`))
	wantAll(t, "the response to a create", p.execute("createPet"), "201", `"id": 1`, `"name": "Frank"`, `"categoryId": 9007199254740993`, "location: /v1/pets/1")
	wantAll(t, "the response to another", p.execute("createPet"), "201", `"id": 2`)

	p.unfold("listPets")
	wantAll(t, "the response to a list", p.execute("listPets"), "200", `"id": 1`, `"id": 2`, `"categoryId": 9007199254740993`)

	for _, storage := range []string{"localStorage", "sessionStorage"} {
		if kept := read(p, chromedp.Evaluate[string]("JSON.stringify("+storage+")")); strings.Contains(kept, key) {
			t.Errorf("%s: got %s, want no API key in it", storage, kept)
		}
	}
	p.do(chromedp.Reload(), chromedp.WaitVisible(operation("listPets")))
	if page := read(p, chromedp.OuterHTML(chromedp.CSS("html"))); strings.Contains(page, key) {
		t.Error("the page, loaded again: got the API key in it, want it forgotten")
	}
}

func TestTheDeprecationsLinkLeadsToItsExplanationInTheDocs(t *testing.T) {
	s := start(t)
	link := s.get(t, petsPath+"/1").Header.Get("Link")
	target, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	p := open(t, s.URL+target, "light", desk)
	explained := read(p, chromedp.Text(operation("getPet", ".opblock-body")))
	wantAll(t, "the place "+target, explained, "Warning: Deprecated", "GET /pets with a status filter", "5 December 2030")
	if !read(p, chromedp.Evaluate[bool](`document.querySelector("#operations-pets-getPet").classList.contains("opblock-deprecated")`)) {
		t.Error("getPet: got no mark of its deprecation, want one")
	}
	if n := read(p, chromedp.Evaluate[int](`document.querySelectorAll(".opblock-deprecated").length`)); n != 1 {
		t.Errorf("deprecated operations: got %d, want getPet alone", n)
	}
}

func TestTheDocsFollowWhatTheReaderPrefers(t *testing.T) {
	s := start(t)
	p := open(t, s.URL+"/docs", "dark", desk)
	wants := func(when string, least, most float64) {
		t.Helper()
		if light := brightness(t, read(p, chromedp.CaptureScreenshot())); light < least || light > most {
			t.Errorf("brightness where %s is preferred: got %.2f, want %.1f to %.1f", when, light, least, most)
		}
	}
	wants("dark", 0.05, 0.3)
	p.prefer("light")
	p.do(chromedp.WaitVisible(chromedp.CSS("html:not(.dark-mode) .swagger-ui"))) // the page hears of it in its own time
	wants("light", 0.8, 0.99)
	p.visit(s.URL + "/docs")
	wants("light from the start", 0.8, 0.99)
}

// brightness returns how light a picture is on average: 0 is black, 1 is white.
func brightness(t *testing.T, picture []byte) float64 {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var sum, count float64
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y += 3 {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x += 3 {
			r, g, b, _ := m.At(x, y).RGBA()
			sum += float64(r+g+b) / (3 * 0xffff)
			count++
		}
	}
	return sum / count
}

func TestTheDocsFitAPhone(t *testing.T) {
	s := start(t)
	p := open(t, s.URL+"/docs", "dark", phone)
	fits := func(when string) {
		t.Helper()
		if width := read(p, chromedp.Evaluate[int]("document.documentElement.scrollWidth")); width != phone {
			t.Errorf("width of the page %s: got %d pixels, want %d", when, width, phone)
		}
	}
	fits("at first")
	p.authorize()
	for _, id := range []string{"createPet", "listPets"} {
		p.unfold(id)
		p.execute(id)
		fits("after " + id)
	}
	p.unfold("getPet")
	fits("with all of it unfolded")
}

func TestTheDocsAreUsedByTheKeyboardAlone(t *testing.T) {
	s := start(t)
	p := open(t, s.URL+"/docs", "light", desk)
	for reached := false; !reached; {
		p.do(chromedp.KeyEvent("\t"))
		focus := read(p, chromedp.Evaluate[struct{ Element, Outline, Operation string }](`({
			Element: document.activeElement.outerHTML.slice(0, 200),
			Outline: getComputedStyle(document.activeElement).outlineStyle,
			Operation: document.activeElement.closest(".opblock")?.id ?? "",
		})`))
		if strings.HasPrefix(focus.Element, "<body") {
			t.Fatal("the focus: got back to where it began, want it to meet listPets")
		}
		if focus.Outline == "none" {
			t.Errorf("outline of %s: got none, want to see that it has the focus", focus.Element)
		}
		reached = focus.Operation == "operations-pets-listPets"
	}
	p.do(chromedp.KeyEvent("\r"), chromedp.WaitVisible(operation("listPets", ".execute")))
}

func TestTheDocsWorkBehindAProxyThatPutsThemDeeper(t *testing.T) {
	s := start(t, func(c *edge.Config) { c.Base = "https://pets.example.com/shop" + contract.BasePath })
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/shop")
	}})
	t.Cleanup(proxy.Close)
	p := open(t, proxy.URL+"/shop/docs/", "light", desk)
	for i, path := range []string{"/shop/docs/", "/shop/docs"} {
		p.visit(proxy.URL + path)
		p.authorize()
		p.unfold("createPet")
		wantAll(t, path, p.execute("createPet"), "201")
		servers := read(p, chromedp.Text(chromedp.CSS(".servers select")))
		wantAll(t, "the servers", servers, proxy.URL+"/shop/v1", "https://pets.example.com/shop/v1")
		page, err := s.store.Pets(context.Background(), petstore.Query{Limit: 10})
		if err != nil || len(page.Pets) != i+1 {
			t.Errorf("pets after a create at %s: got %v (%v), want %d", path, page.Pets, err, i+1)
		}
	}
}

// wantAll checks that a text has all of these in it.
func wantAll(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want %q in it", what, text, part)
		}
	}
}
