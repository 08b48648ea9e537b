package live

import (
	"cmp"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Column is one column of a list in a terminal. The first column of a list takes the room that the others leave.
type Column struct {
	Title string
	Width int // in cells; of the first column the least
	Most  int // of the first column; 0: mostFirst
	From  int // the least width of the list with this column
	Right bool
}

// Layout are the columns that have room in a list.
type Layout struct {
	columns []Column
	starts  []int // "-1": there is no room
	width   int
}

const (
	gap       = 2  // cells between two columns
	mostFirst = 64 // the width of the first column: farther away, a value does not seem to be of its row
)

// Fit lays out columns in a width.
func Fit(columns []Column, width int) Layout {
	l := Layout{columns: columns, starts: make([]int, len(columns)), width: width}
	rest := width
	for i, c := range columns {
		if l.starts[i] = -1; i > 0 && width >= c.From {
			l.starts[i] = 0
			rest -= gap + c.Width
		}
	}
	l.columns = append([]Column{}, columns...)
	l.columns[0].Width = max(columns[0].Width, min(rest, cmp.Or(columns[0].Most, mostFirst)))
	x := 0
	for i, c := range l.columns {
		if i == 0 || l.starts[i] == 0 {
			l.starts[i] = x
			x += c.Width + gap
		}
	}
	return l
}

// Titles draws the line above a list.
func (l Layout) Titles(p *canvas.Picture, x, y int) {
	for i, c := range l.columns {
		l.Cell(p, x, y, i, canvas.Faint, c.Title)
	}
}

// Cell draws a value in a column, shortened if it is too long.
func (l Layout) Cell(p *canvas.Picture, x, y, column int, style canvas.Style, text string) {
	at, c := l.starts[column], l.columns[column]
	if at < 0 {
		return
	}
	text = terminal.Shorten(terminal.Visible(text), max(1, min(c.Width, l.width-at)))
	if c.Right {
		p.Right(x+at+c.Width, y, style, text)
	} else {
		p.Text(x+at, y, style, text)
	}
}

// Bar draws shares of a whole in a column: the time of tasks, or progress. The characters differ, too, for terminals
// without colours.
func (l Layout) Bar(p *canvas.Picture, x, y, column int, shares ...Share) {
	at, c := l.starts[column], l.columns[column]
	if at < 0 {
		return
	}
	DrawBar(p, x+at, y, c.Width, shares...)
}

// Share is a part of a bar.
type Share struct {
	Of    float64 // 0 to 1
	Fill  string  // one cell wide
	Style canvas.Style
}

// Busy is the time in which tasks work.
func Busy(of float64) Share { return Share{of, "█", canvas.Warm} }

// Pressured is the time in which tasks wait for their consumers.
func Pressured(of float64) Share { return Share{of, "▒", canvas.Bad} }

// Done is work that is done, or what is in use.
func Done(of float64) Share { return Share{of, "█", canvas.Good} }

// Works is work that is being done.
func Works(of float64) Share { return Share{of, "░", canvas.Good} }

// DrawBar draws the shares one after the other, and dots for the rest.
func DrawBar(p *canvas.Picture, x, y, width int, shares ...Share) {
	from, sum := 0, 0.
	for _, s := range shares {
		sum += max(0, s.Of)
		until := min(width, int(sum*float64(width)+0.5))
		if s.Of >= 0.01 && until <= from && from < width && sum < 1 {
			until = from + 1 // a little is more than nothing
		}
		for ; from < until; from++ {
			p.Text(x+from, y, s.Style, s.Fill)
		}
	}
	for ; from < width; from++ {
		p.Text(x+from, y, canvas.Faint, "·")
	}
}

// Columns of a list of vertices.
const (
	columnVertex = iota
	columnTasks
	columnSplits
	columnRecords
	columnBytes
	columnTime
	columnMost
	columnState
)

// VertexLayout lays out a list of vertices.
func VertexLayout(width int) Layout {
	return Fit([]Column{
		columnVertex:  {Title: "VERTEX", Width: 8},
		columnTasks:   {Title: "TASKS", Width: tasksWidth(width), Right: true},
		columnSplits:  {Title: "SPLITS", Width: 11, From: 100, Right: true},
		columnRecords: {Title: "RECORDS", Width: 8, Right: true},
		columnBytes:   {Title: "BYTES", Width: 10, From: 90, Right: true},
		columnTime:    {Title: "TIME", Width: timeWidth(width)},
		columnMost:    {Title: "MOST", Width: 5, From: 60, Right: true},
		columnState:   {Title: "STATE", Width: 9, From: 76},
	}, width)
}

// tasksWidth has room for two numbers of tasks: of three digits each on a narrow screen.
func tasksWidth(width int) int {
	if width < 60 {
		return 7
	}
	return 9
}

// timeWidth is the width of the bar of time.
func timeWidth(width int) int {
	switch {
	case width < 60:
		return 6
	case width < 100:
		return 10
	}
	return 16
}

// Draw draws a vertex on one line of a list with the VertexLayout.
func (v Vertex) Draw(p *canvas.Picture, l Layout, x, y int) {
	style := canvas.Plain
	if v.Status == msg.ExecutionCreated || v.Status == msg.ExecutionScheduled {
		style = canvas.Faint
	}
	l.Cell(p, x, y, columnVertex, style, v.Name)
	l.Cell(p, x, y, columnTasks, canvas.Plain, fmt.Sprintf("%d/%d", v.Tasks[msg.ExecutionFinished], v.Parallelism))
	if v.Splits.All > 0 {
		l.Cell(p, x, y, columnSplits, canvas.Plain, fmt.Sprintf("%d/%d", v.Splits.Read, v.Splits.All))
	}
	l.Cell(p, x, y, columnState, StateStyle(string(v.Status)), string(v.Status))
	if !v.Measured {
		return
	}
	a := v.Activity
	l.Cell(p, x, y, columnRecords, canvas.Plain, PerSecond(v.Rate()))
	l.Cell(p, x, y, columnBytes, canvas.Plain, Bytes(v.ByteRate())+"/s")
	l.Bar(p, x, y, columnTime, Busy(a.Busy), Pressured(a.BackPressured))
	l.Cell(p, x, y, columnMost, canvas.Plain, Percent(a.MostBusy.Share))
}

// StateStyle is the style of a state of a job, a task or an application.
func StateStyle(state string) canvas.Style {
	switch state {
	case "RUNNING":
		return canvas.Good
	case "FINISHED", "SUCCEEDED":
		return canvas.Plain
	case "FAILED", "FAILING", "KILLED":
		return canvas.Bad
	case "RESTARTING", "CANCELLING", "CANCELING", "DEPLOYING":
		return canvas.Warm
	}
	return canvas.Faint
}
