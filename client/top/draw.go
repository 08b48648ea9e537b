package top

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// Sizes of the view, in lines.
const (
	leastStacked = 20 // of the terminal, for all panels at once
	tallHead     = 16 // of the terminal, for the head with all its lines
	frameOfPanel = 2  // a panel's title and its columns' titles
	leastRows    = 2  // of a list, if the terminal has room for all lists
)

// asking is what the view shows of what it does not know yet.
const asking = "asking the ApplicationMaster …"

// Draw is the picture of the view.
func Draw(m Model) *canvas.Picture {
	p := canvas.New(m.Columns, m.Lines)
	if m.help {
		drawHelp(p)
		return p
	}
	y := m.drawHead(p)
	bottom := p.Height - 1
	switch {
	case !m.seen && m.over:
		m.drawOver(p, y)
		m.drawFoot(p)
		return p
	case !m.seen:
		p.Text(0, y+1, canvas.Faint, asking)
	case m.Lines < leastStacked:
		m.drawAlone(p, y, bottom)
	default:
		m.drawStack(p, y, bottom)
	}
	if m.words != "" { // what follows is no longer true
		p.Grey()
		m.drawNotice(p)
	}
	m.drawFoot(p)
	return p
}

// drawHead draws the lines about the application, and returns the line after them.
func (m Model) drawHead(p *canvas.Picture) int {
	a := m.Application
	after := p.Text(0, 0, canvas.Bold|canvas.Accent, "bobbin top")
	clock := m.Now.Format("15:04:05")
	room := p.Width - after - 3 - len(clock)
	title := a.ID
	if m.yarn.Name != "" && terminal.Cells(title)+8 < room {
		title += "  " + m.yarn.Name
	}
	if room > 0 {
		p.Text(after+1, 0, canvas.Bold, terminal.Shorten(terminal.Visible(title), room))
	}
	p.Right(p.Width, 0, canvas.Faint, clock)
	if !m.seen {
		return 2
	}
	y := 1
	if p.Height >= tallHead {
		m.drawReport(p, y)
		y++
	}
	slots := fmt.Sprintf("%d of %d slots", a.Slots-a.Free, a.Slots)
	jobs := fmt.Sprintf("%d running, %d finished, %d ended otherwise", a.Running, a.Finished, a.Other)
	workers := counted(a.Workers, "worker")
	if p.Width < 90 {
		jobs = counted(a.Running, "running job")
	}
	if len(workers)+len(slots)+len(jobs)+4 > p.Width { // thousands of them on a narrow screen
		slots, jobs = fmt.Sprintf("%d/%d slots", a.Slots-a.Free, a.Slots), counted(a.Running, "job")
	}
	x := p.Text(0, y, canvas.Plain, workers) + 2
	x = p.Text(x, y, canvas.Plain, slots) + 1
	if wide := p.Width - x - len(jobs) - 2; wide >= 10 && a.Slots > 0 {
		live.DrawBar(p, x, y, min(wide, 24), live.Done(float64(a.Slots-a.Free)/float64(a.Slots)))
		x += min(wide, 24) + 1
	}
	p.Text(x+1, y, canvas.Plain, jobs)
	return y + 1
}

// drawReport draws the line about the application as YARN sees it.
func (m Model) drawReport(p *canvas.Picture, y int) {
	x := 0
	if m.yarn.State != "" {
		x = p.Text(x, y, live.StateStyle(m.yarn.State)|canvas.Bold, m.yarn.State) + 1
	}
	if !m.yarn.Started.IsZero() {
		x = p.Text(x, y, canvas.Plain, "for "+live.Lasting(m.Now.Sub(m.yarn.Started))) + 2
	}
	if m.unheard && !m.over {
		x = p.Text(x, y, canvas.Warm, m.silence(p.Width-x)) + 2
	}
	var rest []string
	if m.yarn.Queue != "" {
		rest = append(rest, "queue "+m.yarn.Queue)
	}
	if m.Application.Attempt > 1 {
		rest = append(rest, fmt.Sprintf("attempt %d of its master", m.Application.Attempt))
	}
	if m.Application.Version != "" && p.Width >= 100 {
		rest = append(rest, "Bobbin "+m.Application.Version)
	}
	if room := p.Width - x; room > 1 {
		p.Text(x, y, canvas.Faint, terminal.Shorten(terminal.Visible(strings.Join(rest, ", ")), room))
	}
}

// silence says since when YARN has told nothing.
func (m Model) silence(room int) string {
	if m.reported.IsZero() {
		return "YARN does not answer"
	}
	since := m.reported.Format(time.TimeOnly)
	if long := "YARN has not answered since " + since; len(long) <= room {
		return long
	}
	return "no YARN since " + since
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// drawAlone draws only the panel that the user has gone to. Below the jobs is what there is to say about the chosen one.
func (m Model) drawAlone(p *canvas.Picture, y, bottom int) {
	end := bottom
	if m.focus == panelJobs {
		end = min(bottom, y+frameOfPanel+max(len(m.jobs), 1))
		if end = min(end, max(bottom-2*mostWords, y+frameOfPanel+1)); end < bottom {
			m.drawWords(p, end, bottom+frameOfPanel)
		}
	}
	m.drawPanel(p, m.focus, y, end)
}

// drawStack draws all panels, one below the other. The vertices get what the others leave. Of a screen with too few lines the
// panel that the user has gone to gets the most.
func (m Model) drawStack(p *canvas.Picture, y, bottom int) {
	y++                    // a line between head and panels
	room := bottom - y - 2 // one before each of the other panels
	jobs, workers := max(1, len(m.jobs))+frameOfPanel, max(1, len(m.workers))+frameOfPanel
	vertices := max(1, len(m.vertices)) + frameOfPanel + mostWords
	if m.open {
		vertices = len(m.Subtasks) + frameOfPanel + mostWords
	}
	for _, list := range []struct {
		of    panel
		lines *int
	}{{panelWorkers, &workers}, {panelJobs, &jobs}} {
		least := min(frameOfPanel+leastRows, room/4)
		if list.of == m.focus {
			least = room / 2
		}
		if missing := jobs + vertices + workers - room; missing > 0 {
			*list.lines = max(min(*list.lines, least), *list.lines-missing)
		}
	}
	m.drawPanel(p, panelJobs, y, y+jobs)
	m.drawPanel(p, panelVertices, y+jobs+1, bottom-workers-1)
	m.drawPanel(p, panelWorkers, bottom-workers, bottom)
}

// drawPanel draws a panel on the lines from y to before end.
func (m Model) drawPanel(p *canvas.Picture, of panel, y, end int) {
	style, mark := canvas.Bold, "  "
	if of == m.focus {
		style, mark = canvas.Bold|canvas.Accent, "▸ "
	}
	x := p.Text(0, y, style, mark+m.title(of)) + 2
	var notes []string
	if m.sorts[of] != 0 {
		notes = append(notes, "by "+m.order(of))
	}
	if m.filter[of] != "" || m.typing && of == m.focus {
		notes = append(notes, "/"+m.filter[of])
	}
	p.Text(x, y, canvas.Warm, strings.Join(notes, "  "))
	y++
	switch {
	case of == panelJobs:
		m.drawJobs(p, y, end)
	case of == panelWorkers:
		m.drawWorkers(p, y, end)
	case m.open:
		m.drawSubtasks(p, m.drawWords(p, y, end), end)
	default:
		m.drawVertices(p, m.drawWords(p, y, end), end)
	}
}

// title names a panel and what is in it.
func (m Model) title(of panel) string {
	switch of {
	case panelJobs:
		return fmt.Sprintf("Jobs %d", len(m.jobs))
	case panelWorkers:
		if m.Partial && len(m.workers) == 0 {
			return "Workers"
		}
		return fmt.Sprintf("Workers %d", len(m.workers))
	default: // panelVertices
	}
	if len(m.jobs) == 0 {
		return "Vertices"
	}
	if m.open && len(m.vertices) > 0 {
		return "Subtasks of " + terminal.Shorten(terminal.Visible(m.vertices[m.index[panelVertices]].Name), max(1, m.Columns-30))
	}
	return "Vertices of " + terminal.Shorten(terminal.Visible(m.jobs[m.index[panelJobs]].Name), max(1, m.Columns-30))
}

// drawFoot draws the keys, or the filter that is being typed.
func (m Model) drawFoot(p *canvas.Picture) {
	y := p.Height - 1
	if m.typing {
		text := "/" + m.filter[m.focus] + "▏"
		for terminal.Cells(text) > max(1, p.Width) { // what is typed now is at its end
			_, first := utf8.DecodeRuneInString(text)
			text = text[first:]
		}
		p.Text(0, y, canvas.Reverse, text)
		return
	}
	x := 0
	if m.Paused {
		x = p.Text(0, y, canvas.Reverse|canvas.Warm, " paused ") + 1
	}
	if age := m.old(); age > 0 {
		x = p.Text(x, y, canvas.Reverse|canvas.Warm, " "+live.Lasting(age)+" old ") + 1
	}
	for _, keys := range []string{
		"q quit  ? help  Tab panel  Enter open  s sort  / filter  p pause",
		"q quit  ? help  Tab panel  Enter open",
		"q quit  ? help",
	} {
		if len(keys) <= p.Width-x {
			p.Text(x, y, canvas.Faint, keys)
			break
		}
	}
}
