package web

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
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
	b.visit(t, "our-door", link.URL, "Slots and workers")
	return door
}

// button finds a button of the page by its whole text.
func button(text string) string { return fmt.Sprintf(`//button[normalize-space()=%q]`, text) }

// clicks waits for an element, and clicks on it.
func (b *browser) clicks(t *testing.T, element string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.Search(element), chromedp.NodeEnabled)); err != nil {
		t.Fatalf("click on %s: %v", element, err)
	}
}

// types writes a text into a field.
func (b *browser) types(t *testing.T, field, text string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(field), text)); err != nil {
		t.Fatalf("type into %s: %v", field, err)
	}
}

// uploads chooses a file in the form of the session's page, and sends it.
func (b *browser) uploads(t *testing.T, file string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{file})); err != nil {
		t.Fatalf("choose %s: %v", file, err)
	}
	b.clicks(t, button("Upload"))
}

// dark gives the page the dark colours of a system, or the light ones.
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
