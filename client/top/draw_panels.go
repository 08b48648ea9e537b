package top

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// margin are the cells before a row, for the mark of the chosen one.
const margin = 2

// noneChosen is the chosen row of a list that only scrolls.
const noneChosen = -1

// list is one of the lists of the view.
type list struct {
	of     panel
	layout live.Layout
	rows   int
	chosen int              // its row, or noneChosen
	none   string           // why it is empty
	draw   func(row, y int) // draws a row on a line
}

// drawList draws the titles of a list, and the rows around the chosen one, on the lines from y to before end.
func (m Model) drawList(p *canvas.Picture, y, end int, l list) {
	l.layout.Titles(p, margin, y)
	room := max(0, end-y-1)
	if l.rows == 0 && room > 0 {
		p.Text(margin, y+1, canvas.Faint, terminal.Shorten(l.none, max(1, p.Width-margin)))
	}
	middle := l.chosen
	if middle == noneChosen {
		middle = m.scroll + room/2
	}
	from := max(0, min(middle-room/2, l.rows-room))
	for row := from; row < min(l.rows, from+room); row++ {
		y++
		l.draw(row, y)
		if row == l.chosen && (l.of == m.focus || l.of == panelJobs) { // the vertices are of the chosen job
			m.mark(p, l.of, y)
		}
	}
}

// mark marks the chosen row of a panel.
func (m Model) mark(p *canvas.Picture, of panel, y int) {
	style := canvas.Faint
	if of == m.focus {
		style = canvas.Bold | canvas.Accent
	}
	p.Text(0, y, style, "›")
}

// none says why a panel is empty.
func (m Model) none(of panel, none string) string {
	switch {
	case m.filter[of] != "":
		return "nothing with /" + m.filter[of]
	case m.Partial:
		return asking
	}
	return none
}

// drawJobs draws the rows of jobs.
func (m Model) drawJobs(p *canvas.Picture, y, end int) {
	l := live.Fit([]live.Column{
		{Title: "JOB", Width: 10},
		{Title: "STATE", Width: 10},
		{Title: "TASKS", Width: 11, From: 50, Right: true},
		{Title: "PROGRESS", Width: 10, From: 70},
		{Title: "ELAPSED", Width: 7, Right: true},
		{Title: "ID", Width: 32, From: 120},
	}, p.Width-margin)
	chosen := m.index[panelJobs]
	m.drawList(p, y, end, list{panelJobs, l, len(m.jobs), chosen, m.none(panelJobs, "no jobs yet: bobbin run PROGRAM starts one"), func(row, y int) {
		j := m.jobs[row]
		name := canvas.Plain
		if row == chosen {
			name = canvas.Bold
		}
		l.Cell(p, margin, y, 0, name, j.Name)
		l.Cell(p, margin, y, 1, live.StateStyle(string(j.Status)), string(j.Status))
		l.Cell(p, margin, y, 2, canvas.Plain, fmt.Sprintf("%d/%d", j.Finished, j.Tasks))
		if j.Tasks > 0 {
			l.Bar(p, margin, y, 3, live.Done(float64(j.Finished)/float64(j.Tasks)), live.Works(float64(j.Running)/float64(j.Tasks)))
		}
		l.Cell(p, margin, y, 4, canvas.Plain, live.Lasting(j.Lasts))
		l.Cell(p, margin, y, 5, canvas.Faint, string(j.ID))
	}})
}

// drawVertices draws the rows of vertices.
func (m Model) drawVertices(p *canvas.Picture, y, end int) {
	l := live.VertexLayout(p.Width - margin)
	none := "choose a job above"
	if len(m.jobs) > 0 {
		none = "asking for its vertices …"
	}
	m.drawList(p, y, end, list{panelVertices, l, len(m.vertices), m.index[panelVertices], m.none(panelVertices, none), func(row, y int) {
		m.vertices[row].Draw(p, l, margin, y)
	}})
}

// drawSubtasks draws the rows of subtasks of the opened vertex.
func (m Model) drawSubtasks(p *canvas.Picture, y, end int) {
	node := 24
	if p.Width < 100 {
		node = 16
	}
	l := live.Fit([]live.Column{
		{Title: "SUBTASK", Width: 7, Most: 9},
		{Title: "NODE", Width: node, From: 70},
		{Title: "STATE", Width: 9},
		{Title: "ATTEMPT", Width: 7, From: 110, Right: true},
		{Title: "RECORDS", Width: 8, Right: true},
		{Title: "BYTES", Width: 9, From: 60, Right: true},
		{Title: "TIME", Width: 10, From: 40},
		{Title: "BUSY", Width: 5, From: 60, Right: true},
		{Title: "ELAPSED", Width: 7, From: 100, Right: true},
	}, p.Width-margin)
	m.drawList(p, y, end, list{panelVertices, l, len(m.subtasks), noneChosen, "asking for its subtasks …", func(row, y int) {
		s := m.subtasks[row]
		amount := s.Read
		if amount.Records == 0 {
			amount = s.Written
		}
		l.Cell(p, margin, y, 0, canvas.Plain, fmt.Sprint(s.Index+1))
		l.Cell(p, margin, y, 1, canvas.Plain, s.Node)
		l.Cell(p, margin, y, 2, live.StateStyle(string(s.State)), string(s.State))
		l.Cell(p, margin, y, 3, canvas.Plain, fmt.Sprint(s.Attempt+1))
		l.Cell(p, margin, y, 4, canvas.Plain, live.Count(float64(amount.Records)))
		l.Cell(p, margin, y, 5, canvas.Plain, live.Bytes(float64(amount.Bytes)))
		if s.Measured {
			l.Bar(p, margin, y, 6, live.Busy(s.Busy), live.Pressured(s.Pressed))
			l.Cell(p, margin, y, 7, canvas.Plain, live.Percent(s.Busy))
		}
		l.Cell(p, margin, y, 8, canvas.Plain, live.Lasting(s.Lasts))
	}})
}

// drawWorkers draws the rows of workers.
func (m Model) drawWorkers(p *canvas.Picture, y, end int) {
	l := live.Fit([]live.Column{
		{Title: "WORKER", Width: 10, Most: 40},
		{Title: "NODE", Width: 20, From: 90},
		{Title: "SLOTS", Width: 7, Right: true},
		{Title: "USED", Width: 10, From: 60},
		{Title: "OWN MEMORY", Width: 17, From: 70, Right: true},
		{Title: "CPU", Width: 5, Right: true},
		{Title: "HEARTBEAT", Width: 9, From: 80, Right: true},
	}, p.Width-margin)
	m.drawList(p, y, end, list{panelWorkers, l, len(m.workers), m.index[panelWorkers], m.none(panelWorkers, "no workers: they start when a job needs them"), func(row, y int) {
		w := m.workers[row]
		l.Cell(p, margin, y, 0, canvas.Plain, shortWorker(w.ID, p.Width))
		l.Cell(p, margin, y, 1, canvas.Plain, w.Node)
		l.Cell(p, margin, y, 2, canvas.Plain, fmt.Sprintf("%d/%d", w.Slots-w.FreeSlots, w.Slots))
		if w.Slots > 0 {
			l.Bar(p, margin, y, 3, live.Done(float64(w.Slots-w.FreeSlots)/float64(w.Slots)))
		}
		memory := "? of " + live.Bytes(float64(w.Worker.Memory))
		if w.Known {
			memory = live.Bytes(float64(w.Load.Memory)) + " of " + live.Bytes(float64(w.Worker.Memory))
			l.Cell(p, margin, y, 5, canvas.Plain, live.Percent(w.CPU))
		}
		l.Cell(p, margin, y, 4, canvas.Plain, memory)
		l.Cell(p, margin, y, 6, canvas.Plain, live.Lasting(w.Silent))
	}})
}

// shortWorker is the id of a worker. On a narrow screen it is its number in the application: all workers share the rest.
func shortWorker(id string, width int) string {
	if at := strings.LastIndexByte(id, '_'); width < 100 && at > 0 {
		if before := strings.LastIndexByte(id[:at], '_'); before > 0 {
			return "…" + id[before:]
		}
	}
	return id
}
