//go:build chromium

package served_test

import (
	"bytes"
	"context"
	"image/png"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// desk and phone are widths of a window, in CSS pixels.
const desk, phone = 1280, 390

// newBrowser starts the browser that all tests share.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	ctx, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // root has none, and all it loads is ours
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)...)
	t.Cleanup(end)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is a page of the browser. Whatever a test does there, the browser must
// have nothing to complain of, neither errors nor breaches of the
// Content-Security-Policy, and must ask nobody but the service.
type tab struct {
	*testing.T
	ctx    context.Context
	origin string

	mu         sync.Mutex
	complaints []string
}

// open opens an address of the service in a tab of its own.
func open(t *testing.T, browser context.Context, address, prefers string, width int64) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext()) // with storage of its own
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 10*patience) // others may be using the machine too
	t.Cleanup(cancel)

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

// prefer sets the color scheme that the person prefers: light or dark.
func (p *tab) prefer(scheme string) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// watch gathers complaints of the browser and requests to others, for the end
// of the test.
func (p *tab) watch() {
	complain := func(what string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, what)
	}
	call(p, network.Enable, network.EnableParams{})
	err := chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			u := e.Request.URL
			if !strings.HasPrefix(u, p.origin+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:"+p.origin+"/") {
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
			if m.Type != "info" { // Scalar names its version and times its start
				complain(m.String())
			}
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

// read returns the result of an action.
func read[T any](p *tab, action chromedp.Action[T]) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// eval returns the value of a JavaScript expression, which may be a promise.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	return read(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until a JavaScript condition holds. chromedp's own Poll is code
// that the policy of the page forbids.
func (p *tab) until(condition string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 3*patience)
	defer cancel()
	for !eval[bool](p, "Boolean("+condition+")") {
		select {
		case <-ctx.Done():
			p.Fatalf("%s: got it never, want it to hold; the end of the page says %s", condition, eval[string](p, `document.body.innerText.slice(-1500)`))
		case <-time.After(20 * time.Millisecond):
		}
	}
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

// wantAll checks that a text has all of these in it.
func wantAll(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want %q in it", name, text, part)
		}
	}
}
