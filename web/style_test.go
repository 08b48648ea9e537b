package web_test

import (
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTextsHaveContrast would catch words that a tired reader can hardly tell from what is below them, in light or in dark colours: WCAG
// asks for a contrast of 4.5.
func TestTextsHaveContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("src/style/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, both := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !both {
		t.Fatal("tokens.css has no dark colours")
	}
	colours := map[string]string{}
	for scheme, text := range []string{light, dark} { // dark ones are on top of the others
		for _, found := range regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
			colours[found[1]] = found[2]
		}
		for _, pair := range [][2]string{
			{"ink", "bg"},
			{"ink-2", "bg"},
			{"ink-3", "bg"},
			{"ink", "surface"},
			{"ink-2", "surface"},
			{"ink-3", "surface"},
			{"accent", "bg"},
			{"accent", "surface"},
			{"on-accent", "accent"},
			{"good", "good-soft"},
			{"run", "run-soft"},
			{"warn", "warn-soft"},
			{"bad", "bad-soft"},
			{"quiet", "quiet-soft"},
			{"run", "surface"},
			{"warn", "surface"},
			{"bad", "surface"},
			{"busy-ink", "busy-soft"},
			{"busy-ink", "surface"},
			{"pressed", "pressed-soft"},
			{"pressed", "surface"},
		} {
			a, b := luminance(t, colours[pair[0]]), luminance(t, colours[pair[1]])
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", []string{"light", "dark"}[scheme], pair[0], pair[1], contrast)
			}
		}
	}
}

// luminance is that of WCAG, of a colour like "#1d1f24".
func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} { // blue, green, red
		v := float64(rgb>>(8*i)&0xff) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestEachClassHasOneFile would catch a class that two parts of the page use: vite joins all files, so that each of them
// gets the looks of both. Slots in use looked like free ones.
func TestEachClassHasOneFile(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`(?m)^\s*\.([a-z][\w-]*)`)
	source := os.DirFS("src")
	owners := map[string]string{}
	err := fs.WalkDir(source, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".css") {
			return err
		}
		text, err := fs.ReadFile(source, path)
		for _, found := range rule.FindAllSubmatch(text, -1) {
			class := string(found[1])
			if owner, owned := owners[class]; owned && owner != path {
				t.Errorf("class %s has rules in %s and in %s", class, owner, path)
			}
			owners[class] = path
		}
		return err
	})
	if err != nil || len(owners) < 100 {
		t.Errorf("src has %d classes: %v", len(owners), err)
	}
}
