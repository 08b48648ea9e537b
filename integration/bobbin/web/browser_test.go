package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// browser is a tab of a headless Chromium. It notes what goes wrong in its pages.
type browser struct {
	ctx      context.Context //nolint:containedctx // of the tab; chromedp has it so
	pictures string

	over func() error // says why what the page should show cannot come any more; nil: it can always come

	mu       sync.Mutex      // guards what follows
	faults   []string        // in the console, and answers with an error
	strays   []string        // requests for other addresses than those that begin with only
	only     string          // "": all addresses
	answered map[string]bool // the paths with an answer that is no error
	absent   []string        // parts of addresses whose answers may be missing
}

// chromium is the package's browser. Each start of one takes seconds of a processor.
var chromium shared //nolint:gochecknoglobals // as suite

// shared is a browser that starts with the first test that opens a tab, and outlives it.
type shared struct {
	once sync.Once
	ctx  context.Context //nolint:containedctx // of the browser; chromedp has it so
	err  error
	stop []func()
}

// start makes ctx.
func (s *shared) start(ctx context.Context) {
	profile, err := os.MkdirTemp("", "bobbin-test-chromium-")
	if err != nil {
		s.err = err
		return
	}
	allocated, stop := start(ctx, profile)
	browser, closeFirst := chromedp.NewContext(allocated)
	s.stop = []func(){closeFirst, stop, func() { _ = os.RemoveAll(profile) }}
	s.ctx, s.err = browser, chromedp.Do(browser)
}

// end ends the browser, if it has started.
func (s *shared) end() {
	for _, stop := range s.stop {
		stop()
	}
}

// start starts a browser with these options on top.
func start(ctx context.Context, profile string, own ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.WindowSize(1400, 1000),
		chromedp.UserDataDir(profile),
		chromedp.NoSandbox,                 // root has none
		chromedp.Flag("disable-gpu", true), // it would be emulated
		chromedp.IgnoreCertErrors,          // a person accepts the application's certificate
	)
	return chromedp.NewExecAllocator(ctx, append(options, own...)...)
}

// open opens a tab of the package's browser, which shares no cookies with others and ends with the test. With options of its
// own, it is a tab of another browser.
func open(t *testing.T, own ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	b := &browser{pictures: os.Getenv("BOBBIN_TEST_PICTURES"), answered: make(map[string]bool)}
	options := []chromedp.ContextOption{chromedp.WithListener(b.note)}
	var parent context.Context
	if len(own) > 0 {
		allocated, stop := start(t.Context(), t.TempDir(), own...)
		t.Cleanup(stop)
		parent = allocated
	} else {
		chromium.once.Do(func() { chromium.start(context.WithoutCancel(t.Context())) })
		if chromium.err != nil {
			t.Fatalf("start Chromium: %v", chromium.err)
		}
		parent, options = chromium.ctx, append(options, chromedp.WithNewBrowserContext())
	}
	var closeTab context.CancelFunc
	b.ctx, closeTab = chromedp.NewContext(parent, options...)
	t.Cleanup(closeTab)
	return b
}

// keepsTo makes each request to an address that does not begin so a fault, also after forgets; "": none.
func (b *browser) keepsTo(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.only = address
}

// misses lets answers be missing at addresses with these parts, also at addresses that keepsTo forbids; none: no answer may.
func (b *browser) misses(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.absent = parts
}

// note notes an event that shows a fault.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var fault string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			fault += ": " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			fault = "console: " + strings.Join(words, " ")
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			fault = fmt.Sprintf("%s: %s", e.Entry.URL, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if b.only != "" && !strings.HasPrefix(e.Request.URL, b.only) && !strings.HasPrefix(e.Request.URL, "data:") && e.Request.URL != "about:blank" && !b.may(e.Request.URL) {
			b.strays = append(b.strays, e.Request.URL)
		}
	case *network.EventResponseReceived:
		if at, err := url.Parse(e.Response.URL); err == nil && e.Response.Status < 400 {
			b.answered[at.Path] = true
		}
		if e.Response.Status >= 400 {
			fault = fmt.Sprintf("%s: status %d", e.Response.URL, e.Response.Status)
		}
	}
	if fault != "" && !b.may(fault) {
		b.faults = append(b.faults, fault)
	}
}

// may reports whether misses allows a fault. The caller holds mu.
func (b *browser) may(fault string) bool {
	return slices.ContainsFunc(b.absent, func(part string) bool { return strings.Contains(fault, part) })
}

// visit opens an address, waits until the page shows all these texts, and reports the faults that it has seen meanwhile.
func (b *browser) visit(t *testing.T, name, address string, texts ...string) {
	t.Helper()
	b.goes(t, address)
	b.shows(t, name, texts...)
}

// goes opens an address.
func (b *browser) goes(t *testing.T, address string) {
	t.Helper()
	// Only a page that is loaded anew has no leftovers of the last one: Flink's editor of logs fails if it is left too soon.
	if err := chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
}

// shows waits until the page shows all these texts, and reports the faults that it has seen meanwhile.
func (b *browser) shows(t *testing.T, name string, texts ...string) {
	t.Helper()
	b.says(t, name, texts...)
	b.faultless(t, name)
}

// faultless reports the faults that were seen since it was last called.
func (b *browser) faultless(t *testing.T, name string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		t.Errorf("page %s: %s", name, fault)
	}
	for _, address := range b.strays {
		t.Errorf("page %s asks %s, and not only addresses that begin with %s", name, address, b.only)
	}
	b.faults, b.strays = nil, nil
}

// forgets drops faults that the test has caused.
func (b *browser) forgets() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
}

// says waits until the page shows all these texts.
func (b *browser) says(t *testing.T, name string, texts ...string) {
	t.Helper()
	wait.Satisfied(t, fmt.Sprintf("page %s shows %q", name, texts), func() error { return b.has(texts) })
	b.picture(t, name)
}

// has returns an error with the page's text if it does not show all these texts.
func (b *browser) has(texts []string) error {
	shown, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	switch {
	case b.ctx.Err() != nil: // the browser has ended
		return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
	case err != nil: // the page may be on its way to another, as from a link that logs in
		return err
	}
	shown = strings.ReplaceAll(shown, "\u00a0", " ") // in logs
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			return b.missing(fmt.Errorf("it has no %q, but\n%s", text, shown))
		}
	}
	return nil
}

// missing adds to an error why the page will never have what it misses, if that is so.
func (b *browser) missing(err error) error {
	if b.over != nil {
		if why := b.over(); why != nil {
			return fmt.Errorf("%w: %w: %w", wait.ErrGivenUp, why, err)
		}
	}
	return err
}

// during makes the browser's waits end as soon as a job has ended: what they wait for is there only while it goes on. A nil
// master: they wait for something else.
func (b *browser) during(t *testing.T, m *bobbintest.Master, job string) {
	if m == nil {
		b.over = nil
		return
	}
	b.over = func() error {
		var now struct{ State msg.JobStatus }
		switch err := m.Get(t.Context(), "/jobs/"+job, &now); {
		case err != nil && wait.OfTheWay(err):
			return nil
		case err != nil:
			return fmt.Errorf("job %s: %w", job, err)
		}
		if now.State.GloballyTerminal() {
			return fmt.Errorf("job %s is %s", job, now.State)
		}
		return nil
	}
}

// seeks presses a button of the page again and again until the page shows all these texts. It is for what a page shows of one
// moment, and asks for once.
func (b *browser) seeks(t *testing.T, name, button string, texts ...string) {
	t.Helper()
	const tries = 5 // between two clicks: an answer takes a while
	n := 0
	wait.Satisfied(t, fmt.Sprintf("page %s shows %q after a click on %s", name, texts, button), func() error {
		err := b.has(texts)
		if n++; err != nil && !errors.Is(err, wait.ErrGivenUp) && n%tries == 0 {
			b.clicks(t, button)
		}
		return err
	})
	b.picture(t, name)
	b.faultless(t, name)
}

// presses sends a key to what has the focus.
func (b *browser) presses(t *testing.T, key string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(key)); err != nil {
		t.Fatalf("press %q: %v", key, err)
	}
}

// evaluates returns the value of an expression in the page.
func evaluates[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// draws waits until a canvas of the page has a pixel that is neither transparent nor grey: texts in it cannot be found. Before a
// picture it waits for lines, which grow with each answer.
func (b *browser) draws(t *testing.T, name string) {
	t.Helper()
	columns := 1
	if b.pictures != "" {
		columns = 100
	}
	wait.Satisfied(t, "page "+name+" draws something in colour", func() error {
		coloured, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`Math.max(0, ...[...document.querySelectorAll("canvas")].map(c => {
			const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, columns = new Set()
			for (let i = 0; i < p.length; i += 4) if (p[i+3] > 0 && Math.abs(p[i] - p[i+1]) > 50) columns.add(i / 4 % c.width)
			return columns.size
		}))`))
		if err != nil {
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
		if coloured < columns {
			return fmt.Errorf("its canvases have colour in %d columns of pixels, and the test waits for %d", coloured, columns)
		}
		return nil
	})
	b.picture(t, name)
}

// picture keeps what the tab shows, if somebody wants to look at it (BOBBIN_TEST_PICTURES).
func (b *browser) picture(t *testing.T, name string) {
	t.Helper()
	if b.pictures == "" {
		return
	}
	wait.Until(t, "the bars on page "+name+" stand still", func() bool {
		return evaluates[bool](t, b, `!document.getAnimations().some((a) => a instanceof CSSTransition && a.playState === "running")`)
	})
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if height, is := heights[name]; is {
		png = top(t, png, height)
	}
	if err := os.WriteFile(filepath.Join(b.pictures, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}
