package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// report prints the findings of a doctor. On a terminal it breaks lines between words and uses colors, unless
// NO_COLOR is set (https://no-color.org) or the terminal is dumb. Elsewhere each finding is one line, so that
// programs can search the output.
type report struct {
	out   io.Writer
	width int // in columns; 0: lines are not broken
	color bool

	idle  []string // titles of the checks that were skipped last
	why   string   // the reason for all of idle
	shown int      // cells of the line that names the running check; 0: there is no such line
}

// narrow is the smallest width at which lines are broken.
const narrow = 40

func newReport(out io.Writer, getenv func(string) string) *report {
	r := &report{out: terminal.Raw(out)} // report draws on the terminal; hang makes findings visible
	if !terminal.Is(out) {
		return r
	}
	if width := terminal.Columns(out); width >= narrow {
		r.width = width
	}
	r.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return r
}

// Select Graphic Rendition, ECMA-48 §8.3.117.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (r *report) paint(style, text string) string {
	if !r.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// indent is the column where texts begin: after two blanks, the longest status, and two blanks.
const indent = len("  ") + len(doctor.Warning) + len("  ")

// begins shows the running check on a terminal.
func (r *report) begins(title string) {
	if r.width == 0 {
		return
	}
	text := title + " ..."
	r.shown = terminal.Cells(text)
	fmt.Fprint(r.out, text)
}

// ends removes the line of begins.
func (r *report) ends() {
	if r.shown > 0 {
		fmt.Fprint(r.out, "\r"+strings.Repeat(" ", r.shown)+"\r")
	}
	r.shown = 0
}

func (r *report) result(result doctor.Result) {
	r.ends()
	if result.Status == doctor.Skipped {
		r.skip(result.Title, result.Findings[0].Text)
		return
	}
	r.skip("", "")
	fmt.Fprintln(r.out, r.paint(bold, result.Title))
	for _, f := range result.Findings {
		style := map[doctor.Status]string{doctor.OK: green, doctor.Warning: yellow, doctor.Failed: red, doctor.Skipped: faint}[f.Status]
		blanks := strings.Repeat(" ", indent-len("  ")-len(f.Status))
		r.hang("  "+r.paint(style, string(f.Status))+blanks, f.Text)
		if f.Remedy != "" {
			r.hang(strings.Repeat(" ", indent-len("-> "))+"-> ", f.Remedy)
		}
	}
}

// skip collects skipped checks that have the same reason, and prints them on one line before anything else is
// printed.
func (r *report) skip(title, why string) {
	if why != r.why {
		if r.idle != nil {
			r.hang(r.paint(faint, "Skipped")+strings.Repeat(" ", indent-len("Skipped")), strings.Join(r.idle, ", ")+": "+r.why)
		}
		r.idle, r.why = nil, why
	}
	if title != "" {
		r.idle = append(r.idle, title)
	}
}

// hang prints text after a label that is indent columns wide. Text that does not fit continues on the next
// lines, indented.
func (r *report) hang(label, text string) {
	text = strings.Join(strings.Fields(text), " ")
	if terminal.Is(r.out) {
		text = terminal.Visible(text)
	}
	fmt.Fprintln(r.out, label+terminal.Hang(text, indent, indent, r.width))
}

// summary prints the overall result.
func (r *report) summary(results []doctor.Result) {
	r.skip("", "")
	var bad []string
	warnings := 0
	for _, result := range results {
		if result.Status == doctor.Failed {
			bad = append(bad, result.Title)
		}
		for _, f := range result.Findings {
			if f.Status == doctor.Warning {
				warnings++
			}
		}
	}
	fmt.Fprintln(r.out)
	switch {
	case bad != nil:
		fmt.Fprintln(r.out, r.paint(red, "Failed: "+strings.Join(bad, ", ")+"."))
	case warnings > 0:
		fmt.Fprintln(r.out, r.paint(yellow, fmt.Sprintf("Nothing has failed. Warnings: %d.", warnings)))
	default:
		fmt.Fprintln(r.out, r.paint(green, "All is well."))
	}
}
