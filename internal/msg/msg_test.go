package msg

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A text that is no UTF-8 would be refused by the codec of whoever receives it,
// and a worker be lost for its user's panic.
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
