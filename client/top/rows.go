package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// rows are the rows of the panels as the user has ordered and filtered them. An application may have tens of thousands: a
// key or a second does not sort them again.
type rows struct {
	jobs     []client.JobOverview
	vertices []live.Vertex // of the chosen job
	subtasks []Subtask     // in the order of the vertices
	workers  []Worker
	index    [panels]int // of the chosen row: the first one, if that is gone

	jobsAs, workersAs arranged
}

// arranged is what the rows of a list depend on.
type arranged struct {
	looks  int
	sort   int
	filter string
}

// arrange brings the rows up to date.
func (m *Model) arrange() {
	as := func(of panel) arranged { return arranged{m.looks, m.sorts[of], m.filter[of]} }
	if now := as(panelJobs); now != m.jobsAs {
		m.jobs, m.jobsAs = m.jobRows(), now
	}
	m.index[panelJobs] = max(0, slices.IndexFunc(m.jobs, func(j client.JobOverview) bool { return string(j.ID) == m.chosen[panelJobs] }))
	m.vertices = m.vertexRows()
	m.index[panelVertices] = max(0, slices.IndexFunc(m.vertices, func(v live.Vertex) bool { return v.ID == m.chosen[panelVertices] }))
	m.subtasks = m.subtaskRows()
	if now := as(panelWorkers); now != m.workersAs {
		m.workers, m.workersAs = m.workerRows(), now
	}
	m.index[panelWorkers] = max(0, slices.IndexFunc(m.workers, func(w Worker) bool { return w.ID == m.chosen[panelWorkers] }))
}

// count is the number of rows of a panel.
func (m Model) count(of panel) int {
	switch of {
	case panelJobs:
		return len(m.jobs)
	case panelVertices:
		return len(m.vertices)
	default: // panelWorkers
		return len(m.workers)
	}
}

// idOf is the id of a row of a panel.
func (m Model) idOf(of panel, row int) string {
	switch of {
	case panelJobs:
		return string(m.jobs[row].ID)
	case panelVertices:
		return m.vertices[row].ID
	default: // panelWorkers
		return m.workers[row].ID
	}
}

// id is the id of the chosen row; "" without rows.
func (m Model) id(of panel) string {
	if m.count(of) == 0 {
		return ""
	}
	return m.idOf(of, m.index[of])
}

// orders are the orders of a panel's rows, the first one at the start.
func orders(of panel) []string {
	switch of {
	case panelJobs:
		return []string{"state", "name", "duration"}
	case panelVertices:
		return []string{"plan", "busy", "rate"}
	default: // panelWorkers
		return []string{"name", "node", "free slots", "memory", "CPU"}
	}
}

// order is the order of a panel's rows now.
func (m Model) order(of panel) string { return orders(of)[m.sorts[of]] }

// kept are the rows that pass the filter of their panel: one of their texts has it.
func kept[R any](m Model, of panel, all []R, texts func(R) []string) []R {
	filter := strings.ToLower(m.filter[of])
	if filter == "" {
		return slices.Clone(all)
	}
	var rows []R
	for _, row := range all {
		if slices.ContainsFunc(texts(row), func(text string) bool { return strings.Contains(strings.ToLower(text), filter) }) {
			rows = append(rows, row)
		}
	}
	return rows
}

// jobRows are the rows of jobs: first those that run, the newest first.
func (m Model) jobRows() []client.JobOverview {
	rows := kept(m, panelJobs, m.Jobs, func(j client.JobOverview) []string { return []string{j.Name, string(j.ID), string(j.Status)} })
	order := func(client.JobOverview, client.JobOverview) int { return 0 }
	switch m.order(panelJobs) {
	case "name":
		order = func(a, b client.JobOverview) int { return cmp.Compare(a.Name, b.Name) }
	case "duration":
		order = func(a, b client.JobOverview) int { return cmp.Compare(b.Lasts, a.Lasts) }
	}
	slices.SortFunc(rows, func(a, b client.JobOverview) int {
		return cmp.Or(order(a, b), compareTruths(!a.Status.GloballyTerminal(), !b.Status.GloballyTerminal()), b.Start.Compare(a.Start), cmp.Compare(a.ID, b.ID))
	})
	return rows
}

// compareTruths puts what is true first.
func compareTruths(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// vertexRows are the rows of vertices of the chosen job.
func (m Model) vertexRows() []live.Vertex {
	if m.Job == nil || m.Job.ID != ids.JobID(m.id(panelJobs)) {
		return nil
	}
	rows := kept(m, panelVertices, m.Job.Vertices, func(v live.Vertex) []string { return []string{v.Name} })
	slices.SortStableFunc(rows, func(a, b live.Vertex) int {
		switch m.order(panelVertices) {
		case "busy":
			return cmp.Compare(b.Activity.MostBusy.Share, a.Activity.MostBusy.Share)
		case "rate":
			return cmp.Compare(b.Rate(), a.Rate())
		}
		return 0
	})
	return rows
}

// subtaskRows are the rows of subtasks of the opened vertex.
func (m Model) subtaskRows() []Subtask {
	if m.Vertex == "" || m.Vertex != m.id(panelVertices) {
		return nil
	}
	rows := slices.Clone(m.Subtasks)
	slices.SortStableFunc(rows, func(a, b Subtask) int {
		switch m.order(panelVertices) {
		case "busy":
			return cmp.Compare(b.Busy, a.Busy)
		case "rate":
			return cmp.Compare(b.Read.Records+b.Written.Records, a.Read.Records+a.Written.Records)
		}
		return 0
	})
	return rows
}

// workerRows are the rows of workers.
func (m Model) workerRows() []Worker {
	rows := kept(m, panelWorkers, m.Workers, func(w Worker) []string { return []string{w.ID, w.Node} })
	order := func(Worker, Worker) int { return 0 }
	switch m.order(panelWorkers) {
	case "node":
		order = func(a, b Worker) int { return cmp.Compare(a.Node, b.Node) }
	case "free slots":
		order = func(a, b Worker) int { return cmp.Compare(b.FreeSlots, a.FreeSlots) }
	case "memory":
		order = func(a, b Worker) int { return cmp.Compare(b.Load.Memory, a.Load.Memory) }
	case "CPU":
		order = func(a, b Worker) int { return cmp.Compare(b.CPU, a.CPU) }
	}
	slices.SortFunc(rows, func(a, b Worker) int { return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID)) })
	return rows
}
