package msg

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The receiver's codec would refuse a text that is not UTF-8. A worker would then be lost because
// of its user's panic.
func TestFailureTextsAreBoundedAndValid(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bytes that are no text":  "boom \xff\xfe",
		"a rune across the bound": strings.Repeat("é", maxFailureStack),
		"bytes across the bound":  "x" + strings.Repeat("\xff", maxFailureStack),
		"short":                   "boom",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFailure(text, text)
			if !utf8.ValidString(f.Message) || !utf8.ValidString(f.Stack) {
				t.Errorf("%q is not valid UTF-8", f.Message)
			}
			if len(f.Message) > maxFailureMessage || len(f.Stack) > maxFailureStack {
				t.Errorf("lengths %d and %d exceed their bounds", len(f.Message), len(f.Stack))
			}
			if len(text) <= maxFailureMessage && utf8.ValidString(text) && f.Message != text {
				t.Errorf("got %q, want it as it was", f.Message)
			}
		})
	}
}
