package live

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Mark stands in the margin of a sentence that says what is wrong.
const Mark = "!"

const (
	compactMargin = 2 // cells before each line of a compact picture
	compactWords  = 2 // the most lines of its sentence
)

// Columns of a compact picture.
const (
	compactVertex = iota
	compactTasks
	compactSplits
	compactRecords
	compactTime
	compactMost
)

// Compact draws the running vertices of a job, in the order of the plan, and a sentence: waits, or where the job is slow.
// waits says why tasks wait; "" if none does. If there is no room for all vertices, the last line says how many more run.
// It is nil if no vertex runs, and while nothing is measured: then there is nothing to see yet.
func (j Job) Compact(waits string, width, height int) *canvas.Picture {
	var running []Vertex
	measured := false
	for _, v := range j.Vertices {
		if v.Status == msg.ExecutionRunning {
			running = append(running, v)
			measured = measured || v.Measured
		}
	}
	const least = 2 // the titles and one vertex
	if !measured || height < least || width <= compactMargin {
		return nil
	}
	words := j.sentence(waits, width)
	words = words[:min(len(words), height-least)]
	rows := min(len(running), height-1-len(words))
	p := canvas.New(width, 1+rows+len(words))
	l := compactColumns(width - compactMargin)
	l.Titles(p, compactMargin, 0)
	for y := 1; y <= rows; y++ {
		if more := len(running) - y + 1; y == rows && more > 1 && rows > 1 {
			p.Text(compactMargin, y, canvas.Faint, fmt.Sprintf("and %d more vertices", more))
			break
		}
		running[y-1].compact(p, l, y)
	}
	for i, line := range words {
		if i == 0 {
			p.Text(0, 1+rows, canvas.Warm|canvas.Bold, Mark)
		}
		p.Text(compactMargin, 1+rows+i, canvas.Plain, line)
	}
	return p
}

// sentence is the sentence of a compact picture, broken into lines.
func (j Job) sentence(waits string, width int) []string {
	text := waits
	if text == "" {
		text = j.Slow
	}
	if text == "" {
		return nil
	}
	room := width - compactMargin
	lines := strings.Split(terminal.Hang(terminal.Visible(text), 0, 0, room), "\n")
	if len(lines) > compactWords {
		lines = append(lines[:compactWords-1], strings.Join(lines[compactWords-1:], " "))
	}
	for i, line := range lines {
		lines[i] = terminal.Shorten(line, room)
	}
	return lines
}

func compactColumns(width int) Layout {
	return Fit([]Column{
		compactVertex:  {Title: "VERTEX", Width: 8, Most: 40},
		compactTasks:   {Title: "TASKS", Width: 9, From: 56, Right: true},
		compactSplits:  {Title: "SPLITS", Width: 9, From: 46, Right: true},
		compactRecords: {Title: "RECORDS", Width: 8, Right: true},
		compactTime:    {Title: "TIME", Width: timeWidth(width)},
		compactMost:    {Title: "MOST", Width: 5, From: 56, Right: true},
	}, width)
}

// compact draws a running vertex on one line.
func (v Vertex) compact(p *canvas.Picture, l Layout, y int) {
	l.Cell(p, compactMargin, y, compactVertex, canvas.Plain, v.Name)
	l.Cell(p, compactMargin, y, compactTasks, canvas.Plain, fmt.Sprintf("%d/%d", v.Tasks[msg.ExecutionFinished], v.Parallelism))
	if v.Splits.All > 0 {
		l.Cell(p, compactMargin, y, compactSplits, canvas.Plain, fmt.Sprintf("%d/%d", v.Splits.Read, v.Splits.All))
	}
	if !v.Measured {
		return
	}
	l.Cell(p, compactMargin, y, compactRecords, canvas.Plain, PerSecond(v.Rate()))
	l.Bar(p, compactMargin, y, compactTime, Busy(v.Activity.Busy), Pressured(v.Activity.BackPressured))
	l.Cell(p, compactMargin, y, compactMost, canvas.Plain, Percent(v.Activity.MostBusy.Share))
}
