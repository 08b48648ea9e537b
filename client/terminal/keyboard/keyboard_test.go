package keyboard

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestKeysOfTerminals would catch an arrow that is read as letters, and a letter that gets lost.
func TestKeysOfTerminals(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string][]Key{
		"jk":                     {"j", "k"},
		"\x1b[A\x1b[B\x1bOA":     {Up, Down, Up},
		"\x1b[1;5C\x1bOD":        {Right, Left},
		"\x1b[5~\x1b[6~":         {PageUp, PageDown},
		"\x1b[H\x1b[F\x1b[1~":    {Home, End, Home},
		"\t\x1b[Z\r\n":           {Tab, BackTab, Enter, Enter},
		"\x7f\b":                 {Erase, Erase},
		"\x03\x1a\x0c":           {CtrlC, CtrlZ, CtrlL},
		"每é":                     {"每", "é"},
		"\x1b[15~q":              {"q"}, // F5
		"\x1bxq":                 {"q"}, // Alt-x
		"\x1b\x1b[A":             {Escape, Up},
		"\x00\x01q":              {"q"},
		"\xff\xfeq":              {"q"},
		"\x1b[<35;10;10Mq":       {"q"}, // a mouse
		"\x1b[200~text\x1b[201~": {"t", "e", "x", "t"},
	} {
		var d Decoder
		if diff := cmp.Diff(want, d.Keys([]byte(sent))); diff != "" || d.Waits() {
			t.Errorf("%q, waits %t (-want +got):\n%s", sent, d.Waits(), diff)
		}
	}
}

// TestEscapeAloneIsAKey would catch Esc that does nothing, and bytes that stay before the next key.
func TestEscapeAloneIsAKey(t *testing.T) {
	t.Parallel()
	var d Decoder
	if keys := d.Keys([]byte("\x1b")); keys != nil || !d.Waits() {
		t.Errorf("keys %v, waits %t", keys, d.Waits())
	}
	if diff := cmp.Diff([]Key{Escape}, d.Flush()); diff != "" || d.Waits() {
		t.Errorf("flushed (-want +got):\n%s", diff)
	}
	d.Keys([]byte("\xe6")) // the beginning of a character
	if keys := d.Flush(); keys != nil {
		t.Errorf("keys of half a character: %v", keys)
	}
	if diff := cmp.Diff([]Key{"q"}, d.Keys([]byte("q"))); diff != "" {
		t.Errorf("then (-want +got):\n%s", diff)
	}
}

// TestBytesComeInPieces would catch a key that is lost or doubled if the network splits its bytes, and memory that grows
// with a sequence that never ends.
func TestBytesComeInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sent := slices.Concat(rapid.SliceOfN(rapid.SampledFrom([][]byte{
			[]byte("q"), []byte("\x1b[A"), []byte("\x1b[1;5C"), []byte("每"), []byte("\x1b[5~"), []byte("\t"),
		}), 0, 20).Draw(t, "sent")...)
		var whole, split Decoder
		want := whole.Keys(sent)
		var got []Key
		for rest := sent; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got = append(got, split.Keys(rest[:n])...)
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces (-want +got):\n%s", diff)
		}
	})
	var d Decoder
	for range 1000 {
		d.Keys([]byte("\x1b[1111111111"))
		if len(d.rest) > mostRest {
			t.Fatalf("%d bytes are kept", len(d.rest))
		}
	}
}
