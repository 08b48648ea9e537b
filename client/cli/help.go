package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// helpPage takes the text of a help, which comes in pieces, and breaks its lines between words for a terminal that is
// narrower.
type helpPage struct {
	bytes.Buffer
	out io.Writer
}

// print prints it, if anybody has asked for it.
func (h *helpPage) print() error {
	if h.Len() == 0 {
		return nil
	}
	text := h.String()
	if columns := terminal.Columns(h.out); columns > 0 {
		text = fitHelp(text, columns)
	}
	_, err := io.WriteString(h.out, text)
	return err
}

// What stands where in a help, in cells.
const (
	helpIndent  = 3  // before text
	usageIndent = 6  // before what is said of a flag, where there is no room beside it
	usageRoom   = 24 // that there has to be for that
)

// fitHelp changes what has a line that is wider than the terminal: paragraphs, and lists of flags and commands.
func fitHelp(text string, columns int) string {
	blocks := strings.Split(text, "\n\n")
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		if slices.ContainsFunc(lines, func(line string) bool { return terminal.Cells(line) > columns }) {
			blocks[i] = strings.Join(fitBlock(lines, columns), "\n")
		}
	}
	return strings.Join(blocks, "\n\n")
}

func fitBlock(lines []string, columns int) (fit []string) {
	var prose []string // the words of a paragraph
	end := func() {
		if prose != nil {
			fit = append(fit, strings.Repeat(" ", helpIndent)+terminal.Hang(strings.Join(prose, " "), helpIndent, helpIndent, columns))
		}
		prose = nil
	}
	for _, line := range lines {
		words := strings.TrimLeft(line, " ")
		left, right, isRow := strings.Cut(words, "  ")
		switch indent := len(line) - len(words); {
		case indent == helpIndent && isRow:
			end()
			fit = append(fit, fitRow(left, strings.TrimLeft(right, " "), len(line)-len(strings.TrimLeft(right, " ")), columns))
		case indent == helpIndent:
			prose = append(prose, words)
		default: // titles are short, and examples are to be copied as they are
			end()
			fit = append(fit, line)
		}
	}
	end()
	return fit
}

// fitRow fits what is said of a flag or a command, which begins at a column: there, or else below.
func fitRow(name, usage string, at, columns int) string {
	indent := strings.Repeat(" ", helpIndent)
	if at+usageRoom <= columns {
		return indent + name + strings.Repeat(" ", at-helpIndent-len(name)) + terminal.Hang(usage, at, at, columns)
	}
	return indent + terminal.Hang(name, helpIndent, usageIndent, columns) + "\n" +
		strings.Repeat(" ", usageIndent) + terminal.Hang(usage, usageIndent, usageIndent, columns)
}
