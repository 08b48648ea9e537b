package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// longest is the longest sequence, in bytes.
const longest = 32

// sequence follows a control sequence of ECMA-48, ESC [ parameters final, and returns its number of bytes; 0 if some are
// missing.
func (s *Screen) sequence(text []byte) int {
	if len(text) == 1 {
		return 0
	}
	for n := 2; text[1] == '[' && n < min(len(text), longest); n++ {
		if final := text[n]; final >= 0x40 && final <= 0x7e {
			if !s.control(final, string(text[2:n])) {
				s.failed = fmt.Errorf("unknown sequence %q", text[:n+1])
			}
			return n + 1
		}
	}
	if text[1] == '[' && len(text) < longest {
		return 0
	}
	s.failed = fmt.Errorf("unknown sequence %q", text[:min(len(text), longest)])
	return len(text)
}

// control follows a control sequence, and tells whether it is known.
func (s *Screen) control(final byte, parameters string) bool {
	if mode, private := strings.CutPrefix(parameters, "?"); private {
		return s.mode(mode, final == 'h')
	}
	numbers, valid := numbersOf(parameters)
	if !valid {
		return false
	}
	first := func(otherwise int) int {
		if numbers[0] == 0 {
			return otherwise
		}
		return numbers[0]
	}
	switch final {
	case 'A':
		s.Y = max(0, s.Y-first(1))
	case 'B':
		s.Y = min(s.Lines-1, s.Y+first(1))
	case 'C':
		s.X = min(s.Columns-1, s.X+first(1))
	case 'D':
		s.X = max(0, s.X-first(1))
	case 'H':
		s.Y, s.X = min(s.Lines, first(1))-1, 0
		if len(numbers) > 1 {
			s.X = min(s.Columns, max(1, numbers[1])) - 1
		}
	case 'J':
		return s.eraseScreen(numbers[0])
	case 'K':
		s.erase(min(s.X, s.Columns), s.Y, s.Y, s.Columns)
		return numbers[0] == 0
	case 'm':
		return s.rendition(numbers)
	default:
		return false
	}
	return true
}

// numbersOf are the parameters of a sequence, at least one. 0 is one that is left out.
func numbersOf(parameters string) (numbers []int, valid bool) {
	for parameter := range strings.SplitSeq(parameters, ";") {
		n := 0
		if parameter != "" {
			var err error
			if n, err = strconv.Atoi(parameter); err != nil || n < 0 {
				return nil, false
			}
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// eraseScreen erases what follows the cursor, or everything.
func (s *Screen) eraseScreen(what int) bool {
	switch what {
	case 0:
		s.erase(min(s.X, s.Columns), s.Y, s.Lines-1, s.Columns)
	case 2:
		s.erase(0, 0, s.Lines-1, s.Columns)
	default:
		return false
	}
	return true
}

// rendition sets the style of what follows.
func (s *Screen) rendition(numbers []int) bool {
	colours := map[int]canvas.Style{31: canvas.Bad, 32: canvas.Good, 33: canvas.Warm, 34: canvas.Cool, 36: canvas.Accent}
	for _, n := range numbers {
		colour, is := colours[n]
		switch {
		case is:
			s.style |= colour
		case n == 0:
			s.style = canvas.Plain
		case n == 1:
			s.style |= canvas.Bold
		case n == 2:
			s.style |= canvas.Faint
		case n == 7:
			s.style |= canvas.Reverse
		default:
			return false
		}
	}
	return true
}

// mode sets or resets a private mode of xterm.
func (s *Screen) mode(mode string, on bool) bool {
	switch {
	case mode == "25":
		s.Cursor = on
	case mode == "1049" && on && s.main == nil:
		other := *s
		*s = *New(s.Columns, s.Lines)
		s.main = &other
	case mode == "1049" && !on && s.main != nil:
		cursor := s.Cursor
		*s = *s.main
		s.Cursor = cursor
	case mode == "1049": // nothing changes
	default:
		return false
	}
	return true
}
