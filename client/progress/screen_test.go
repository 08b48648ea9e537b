package progress

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// sequence is a control sequence that a Printer sends, or one character.
var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)([A-Za-z])|(?s:.)`)

// screen is what a terminal of unlimited height shows. Only ASCII text is known.
type screen struct {
	lines []string
	x, y  int
}

// show shows what a terminal gets. A line end also returns the cursor, as terminals do by default.
func (s *screen) show(t *rapid.T, text string) {
	for _, m := range sequence.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		switch {
		case m[0] == "\r":
			s.x = 0
		case m[0] == "\n":
			s.x, s.y = 0, s.y+1
		case m[2] == "A":
			if s.y -= n; s.y < 0 {
				t.Fatalf("the cursor leaves the screen")
			}
		case m[2] == "C":
			s.x += n
		case m[2] == "J":
			s.lines = s.lines[:min(len(s.lines), s.y+1)]
			s.cut()
		case m[2] == "K":
			s.cut()
		case m[2] == "m":
		case m[2] != "":
			t.Fatalf("unknown sequence %q", m[0])
		default:
			s.line()
			s.lines[s.y] = s.lines[s.y][:s.x] + m[0] + s.lines[s.y][min(len(s.lines[s.y]), s.x+1):]
			s.x++
		}
	}
}

// line makes the cursor's line reach to the cursor.
func (s *screen) line() {
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, "")
	}
	s.lines[s.y] += strings.Repeat(" ", max(0, s.x-len(s.lines[s.y])))
}

func (s *screen) cut() {
	s.line()
	s.lines[s.y] = s.lines[s.y][:s.x]
}

// TestNothingIsLostUnderAPicture would catch lines of the command, or of another program on the same terminal, that a
// picture is drawn over, and parts of a picture that stay below the last line, in any order of events.
func TestNothingIsLostUnderAPicture(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, out, c := drawing(60, 24)
		var s screen
		var want []string
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			c.now = c.now.Add(time.Second)
			line := fmt.Sprintf("<%d>", i)
			switch rapid.SampledFrom([]string{"moving", "below", "nothing below", "line", "other program", "finish"}).Draw(t, "event") {
			case "moving":
				p.Moving("job", fmt.Sprintf("%0*d of 99", rapid.IntRange(1, 9).Draw(t, "width"), i))
			case "below":
				p.Below(lines(canvas.Warm, make([]string, rapid.IntRange(1, 8).Draw(t, "lines"))...))
				if rapid.Bool().Draw(t, "text") {
					p.Below(lines(canvas.Warm, "picture", "picture"))
				}
			case "nothing below":
				p.Below(nil)
			case "line":
				p.Line("%s", line)
				want = append(want, line)
			case "other program":
				for j := range rapid.IntRange(1, 9).Draw(t, "lines") {
					line := fmt.Sprintf("<%d.%d>", i, j)
					fmt.Fprintln(out, line)
					want = append(want, line)
				}
			case "finish":
				p.Finish()
			}
			s.show(t, out.String())
			out.Reset()
		}
		p.Line("<end>")
		s.show(t, out.String())
		all := strings.Join(s.lines, "\n")
		at := 0
		for _, line := range append(want, "<end>") {
			found := strings.Index(all[at:], line)
			if found < 0 {
				t.Fatalf("%s is not there, after the lines before it:\n%s", line, all)
			}
			at += found + len(line)
		}
		if rest := all[at:]; rest != "" {
			t.Fatalf("below the last line: %q", rest)
		}
	})
}
