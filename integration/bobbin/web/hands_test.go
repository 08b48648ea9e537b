package web

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// door opens the page of an application by a link of `bobbin open`, and returns the address behind it.
func (b *browser) door(t *testing.T, u *bobbintest.User, application string) string {
	t.Helper()
	link := u.Link(t, application)
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	door := "https://" + at.Host + "/"
	b.keepsTo(door)
	master := u.Master(t, application)
	wait.For(t, "the master leads", func() (bool, error) { // before that it turns all away, and a browser does not ask again
		err := master.Get(t.Context(), "/overview", nil)
		return err == nil, err
	})
	b.visit(t, "our-door", link.URL, "Slots and workers")
	return door
}

// button finds a button of the page by its whole text.
func button(text string) string { return fmt.Sprintf(`//button[normalize-space()=%q]`, text) }

// offers returns an error with the page's text if it has no such element, or one that is disabled. element is an XPath or a
// selector.
func (b *browser) offers(element string) error {
	const expression = `(() => {
		const wanted = %q
		const found = wanted.startsWith("//") ? document.evaluate(wanted, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue : document.querySelector(wanted)
		return found && !found.disabled ? "" : document.body?.innerText || "nothing"
	})()`
	shown, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(expression, element)))
	switch {
	case b.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
	case err == nil && shown != "":
		return b.missing(fmt.Errorf("it has no %s that works, but\n%s", element, shown))
	}
	return err
}

// clicks waits for an element, and clicks on it.
func (b *browser) clicks(t *testing.T, element string) {
	t.Helper()
	b.offersNow(t, element)
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.Search(element), chromedp.NodeEnabled)); err != nil {
		t.Fatalf("click on %s: %v", element, err)
	}
}

// types writes a text into a field.
func (b *browser) types(t *testing.T, field, text string) {
	t.Helper()
	b.offersNow(t, field)
	if err := chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(field), text)); err != nil {
		t.Fatalf("type into %s: %v", field, err)
	}
}

// uploads chooses a file in the form of the session's page, and sends it.
func (b *browser) uploads(t *testing.T, file string) {
	t.Helper()
	b.offersNow(t, "input[type=file]")
	if err := chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{file})); err != nil {
		t.Fatalf("choose %s: %v", file, err)
	}
	b.clicks(t, button("Upload"))
}

// chooses selects the option of a list of which a JavaScript function says that it is the one.
func (b *browser) chooses(t *testing.T, list, is string) {
	t.Helper()
	b.offersNow(t, list)
	wait.Until(t, "the choice is there", func() bool {
		return evaluates[bool](t, b, fmt.Sprintf(`(() => {
			const list = document.querySelector(%q)
			const wanted = [...(list?.options ?? [])].find(%s)
			if (!wanted) return false
			list.value = wanted.value
			return list.dispatchEvent(new Event("change", { bubbles: true }))
		})()`, list, is))
	})
}

// The processes of a worker, as a test for options of the page.
const (
	aHost     = `o => o.value !== ""`
	theWorker = `o => o.value === ""`
)

// flames looks for a function in a flame graph of a worker's process: "Heap" or "Processor time". at is the address of the worker.
// A graph is of one moment, so flames looks until a graph has the function.
func (b *browser) flames(t *testing.T, name, at, kind, process, function string) {
	t.Helper()
	wait.Satisfied(t, fmt.Sprintf("a graph on page %s has %s", name, function), func() (err error) {
		b.visit(t, name, at+"/flames", "Process", "Processor time")
		b.chooses(t, ".panel select", process)
		b.clicks(t, button(kind))
		b.shows(t, name, "sampled at", "of all;")
		b.types(t, `input[placeholder="function or package"]`, function)
		for range 5 { // until the page is drawn again
			if err = b.has([]string{"% of all, "}); err == nil {
				return nil
			}
		}
		return err
	})
	b.shows(t, name, "% of all, ")
}

// dark gives the page the dark colours of a system, or the light ones. It would catch a page that does not follow them; the
// contrast of its colours is a test of package web.
func (b *browser) dark(t *testing.T, on bool) {
	t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		t.Fatal(err)
	}
	brightness := evaluates[float64](t, b, luminance+`(getComputedStyle(document.body).backgroundColor)`)
	if on && brightness > 0.05 || !on && brightness < 0.7 {
		t.Errorf("in %s colours the page has a luminance of %.2f", scheme, brightness)
	}
}

// luminance is a function of a colour, as WCAG defines it.
const luminance = `(colour => {
	const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
	return 0.2126 * r + 0.7152 * g + 0.0722 * b
})`

// holds presses keys in the tree of a flame graph. It would catch one that needs a mouse.
func (b *browser) holds(t *testing.T, name string) {
	t.Helper()
	const level = `Number(document.activeElement.getAttribute("aria-level"))`
	if at := evaluates[int](t, b, `(document.querySelector("[role=treeitem][tabindex='0']").focus(), `+level+`)`); at != 1 {
		t.Errorf("page %s: the tree takes the focus at level %d", name, at)
	}
	b.presses(t, kb.ArrowDown)
	if at := evaluates[int](t, b, level); at != 2 {
		t.Errorf("page %s: the arrow key leads to level %d of the tree", name, at)
	}
	b.presses(t, kb.Enter) // it fills the width
	b.offersNow(t, button("Show all"))
	b.presses(t, kb.Escape)
	wait.Until(t, "the tree shows all again", func() bool {
		return evaluates[bool](t, b, `[...document.querySelectorAll("button")].some(e => e.innerText === "Show all" && e.disabled)`)
	})
}

// offersNow waits for an element that works.
func (b *browser) offersNow(t *testing.T, element string) {
	t.Helper()
	wait.Satisfied(t, "the page has "+element, func() error { return b.offers(element) })
}

// phone looks at the page in the window of a small phone. It would catch a page that is wider than that.
func (b *browser) phone(t *testing.T, name string, texts ...string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(360, 780, chromedp.EmulateMobile)); err != nil {
		t.Fatal(err)
	}
	b.shows(t, name, texts...)
	if wide := evaluates[int](t, b, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("page %s is %d pixels wide on a phone of 360", name, wide)
	}
	if err := chromedp.Do(b.ctx, chromedp.EmulateReset()); err != nil {
		t.Fatal(err)
	}
}
