package top

import (
	"unicode"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
)

// mostFilter is the longest filter, in characters.
const mostFilter = 60

// press is the view after a key.
func (m Model) press(key keyboard.Key) Model {
	switch {
	case m.help:
		m.help, m.Quit = false, key == "q"
		return m
	case m.typing:
		return m.typed(key)
	}
	switch key {
	case "q":
		m.Quit = true
	case "?", "h":
		m.help = true
	case "p", " ":
		m.Paused = !m.Paused
	case "/":
		m.typing = true
	case "s":
		m.sorts[m.focus] = (m.sorts[m.focus] + 1) % len(orders(m.focus))
	case keyboard.Tab, keyboard.Right, "l":
		m.focus = (m.focus + 1) % panels
	case keyboard.BackTab, keyboard.Left:
		m.focus = (m.focus + panels - 1) % panels
	case keyboard.Enter:
		m.enter()
	case keyboard.Escape, keyboard.Erase:
		m.back()
	case keyboard.Down, "j":
		m.move(1)
	case keyboard.Up, "k":
		m.move(-1)
	case keyboard.PageDown:
		m.move(m.page())
	case keyboard.PageUp:
		m.move(-m.page())
	case keyboard.Home, "g":
		m.move(-m.count(m.focus) - m.scroll)
	case keyboard.End, "G":
		m.move(m.count(m.focus) + len(m.Subtasks))
	default: // it does nothing
	}
	return m
}

// typed is the view after a key of the filter.
func (m Model) typed(key keyboard.Key) Model {
	text := &m.filter[m.focus]
	switch r, size := utf8.DecodeRuneInString(string(key)); {
	case key == keyboard.Enter:
		m.typing = false
	case key == keyboard.Escape:
		m.typing, *text = false, ""
	case key == keyboard.Erase:
		_, last := utf8.DecodeLastRuneInString(*text)
		*text = (*text)[:len(*text)-last]
	case size == len(key) && unicode.IsPrint(r) && utf8.RuneCountInString(*text) < mostFilter:
		*text += string(key)
	}
	return m
}

// enter opens what is chosen: a job shows its vertices, and a vertex its subtasks.
func (m *Model) enter() {
	m.chosen[m.focus] = m.id(m.focus) // it stays chosen, whatever comes before it
	switch m.focus {
	case panelJobs:
		m.focus, m.open = panelVertices, false
	case panelVertices:
		m.open, m.scroll = !m.open && m.id(panelVertices) != "", 0
	default: // a worker has nothing to open
	}
}

// back closes what was opened last.
func (m *Model) back() {
	switch {
	case m.filter[m.focus] != "":
		m.filter[m.focus] = ""
	case m.open && m.focus == panelVertices:
		m.open = false
	case m.focus != panelJobs:
		m.focus = panelJobs
	}
}

// move chooses another row of the panel, or scrolls the subtasks.
func (m *Model) move(by int) {
	if m.focus == panelVertices && m.open {
		m.scroll = max(0, min(m.scroll+by, len(m.subtasks)-1))
		return
	}
	n := m.count(m.focus)
	if n == 0 {
		return
	}
	next := m.idOf(m.focus, max(0, min(m.index[m.focus]+by, n-1)))
	if m.focus == panelJobs && next != m.id(panelJobs) { // the vertices are those of another job
		m.chosen[panelVertices], m.open, m.scroll = "", false, 0
	}
	m.chosen[m.focus] = next
}

// page is how far a page moves.
func (m Model) page() int { return max(1, m.Lines/3) }
