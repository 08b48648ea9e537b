// Package keyboard turns the bytes that a terminal sends into keys. It does no I/O.
package keyboard

import (
	"strings"
	"unicode/utf8"
)

// Key is a key: one of the constants, or the character that was typed.
type Key string

// Keys without a character.
const (
	Up       Key = "up"
	Down     Key = "down"
	Left     Key = "left"
	Right    Key = "right"
	PageUp   Key = "page up"
	PageDown Key = "page down"
	Home     Key = "home"
	End      Key = "end"
	Enter    Key = "enter"
	Tab      Key = "tab"
	BackTab  Key = "back tab"
	Escape   Key = "escape"
	Erase    Key = "erase"
	CtrlC    Key = "Ctrl-C"
	CtrlZ    Key = "Ctrl-Z"
	CtrlL    Key = "Ctrl-L"
)

// Decoder keeps the beginning of a key whose other bytes have not come yet. The zero value is ready.
type Decoder struct{ rest []byte }

// mostRest bounds the bytes of one sequence. Longer ones are no keys.
const mostRest = 32

// Keys returns the keys of the next bytes. It drops sequences that are no known keys.
func (d *Decoder) Keys(sent []byte) (keys []Key) {
	d.rest = append(d.rest, sent...)
	for len(d.rest) > 0 {
		key, n := first(d.rest)
		if n == 0 && len(d.rest) < mostRest {
			return keys
		}
		if n == 0 {
			n = len(d.rest)
		}
		if key != "" {
			keys = append(keys, key)
		}
		d.rest = d.rest[n:]
	}
	return keys
}

// Waits tells whether bytes wait for others. A terminal sends the bytes of a key at once: if no more come, Flush says
// what they were.
func (d *Decoder) Waits() bool { return len(d.rest) > 0 }

// Flush ends the wait. Escape alone is a key.
func (d *Decoder) Flush() (keys []Key) {
	if len(d.rest) > 0 && d.rest[0] == '\x1b' {
		keys = []Key{Escape}
	}
	d.rest = nil
	return keys
}

// first is the first key, and its number of bytes; 0 if bytes are missing. The key is "" if it is not known.
func first(sent []byte) (key Key, n int) {
	switch b := sent[0]; {
	case b == '\x1b':
		return sequence(sent)
	case b == '\r', b == '\n':
		return Enter, 1
	case b == '\t':
		return Tab, 1
	case b == 0x7f, b == '\b':
		return Erase, 1
	case b == 0x03:
		return CtrlC, 1
	case b == 0x1a:
		return CtrlZ, 1
	case b == 0x0c:
		return CtrlL, 1
	case b < ' ':
		return "", 1
	}
	if !utf8.FullRune(sent) {
		return "", 0
	}
	r, n := utf8.DecodeRune(sent)
	if r == utf8.RuneError {
		return "", n
	}
	return Key(r), n
}

// sequence is the key of an escape sequence: CSI (ESC [ parameters final) or SS3 (ESC O final).
func sequence(sent []byte) (key Key, n int) {
	if len(sent) < 2 {
		return "", 0
	}
	switch sent[1] {
	case '[', 'O':
	case '\x1b':
		return Escape, 1
	default: // Alt with a key
		return "", 2
	}
	for i := 2; i < len(sent); i++ {
		if sent[i] < 0x40 || sent[i] > 0x7e { // a parameter
			continue
		}
		parameter, _, _ := strings.Cut(string(sent[2:i]), ";") // after it are modifiers
		return named(sent[i], parameter), i + 1
	}
	return "", 0
}

func named(final byte, parameter string) Key {
	switch final {
	case 'A':
		return Up
	case 'B':
		return Down
	case 'C':
		return Right
	case 'D':
		return Left
	case 'H':
		return Home
	case 'F':
		return End
	case 'Z':
		return BackTab
	case '~':
		switch parameter {
		case "1", "7":
			return Home
		case "4", "8":
			return End
		case "5":
			return PageUp
		case "6":
			return PageDown
		}
	}
	return ""
}
