package top

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

const (
	mostWords  = 4 // lines of each of the words about the chosen job
	mostNotice = 3 // lines that say why the picture is old
)

// wrapped breaks a text of others, which may have line ends of its own, into lines of this width: at most some, of which the
// last one may be shortened.
func wrapped(text string, width, most int) []string {
	width = max(1, width)
	text = terminal.Visible(strings.Join(strings.Fields(text), " "))
	lines := strings.Split(terminal.Hang(text, 0, 0, width), "\n")
	if most = max(1, most); len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
	}
	for i, line := range lines {
		lines[i] = terminal.Shorten(line, width)
	}
	return lines
}

// drawNotice draws why the view is not true any more over the lines below the title.
func (m Model) drawNotice(p *canvas.Picture) {
	for i, line := range wrapped(m.notice(), p.Width, mostNotice) {
		p.Text(0, 1+i, canvas.Plain, strings.Repeat(" ", p.Width))
		p.Text(0, 1+i, canvas.Warm|canvas.Bold, line)
	}
}

func (m Model) notice() string {
	if m.over {
		return "the application has ended: " + m.words
	}
	return m.words
}

// drawOver is the picture of an application that had ended before the first look: why it has ended has the whole screen.
func (m Model) drawOver(p *canvas.Picture, y int) {
	for i, line := range wrapped(m.notice(), p.Width, p.Height-1-y) {
		p.Text(0, y+i, canvas.Plain, line)
	}
}

// drawWords draws what there is to say about the chosen job: why it waits, failed, restarted or is slow, and how it runs. It returns the
// line after it.
func (m Model) drawWords(p *canvas.Picture, y, end int) int {
	if m.Job == nil || string(m.Job.ID) != m.id(panelJobs) {
		return y
	}
	for _, says := range []struct {
		words string
		style canvas.Style
	}{{m.Waits, canvas.Warm}, {m.Job.Left, canvas.Warm}, {m.Cause, canvas.Bad}, {m.Job.Slow, canvas.Warm}, {m.Job.Note, canvas.Faint}} {
		if says.words == "" {
			continue
		}
		for i, line := range wrapped(says.words, p.Width-margin, mostWords) {
			if y >= end-frameOfPanel {
				return y
			}
			if i == 0 { // only the mark has a colour: yellow text is hard to read on a light screen
				p.Text(0, y, says.style|canvas.Bold, live.Mark)
			}
			p.Text(margin, y, canvas.Plain, line)
			y++
		}
	}
	return y
}
