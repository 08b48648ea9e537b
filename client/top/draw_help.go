package top

import (
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// drawHelp draws the keys and what the columns mean.
func drawHelp(p *canvas.Picture) {
	p.Text(0, 0, canvas.Bold|canvas.Accent, "bobbin top: keys")
	y := 1
	for _, row := range [][2]string{
		{"↑ ↓  k j", "choose a row, as PgUp, PgDn,"},
		{"", "Home and End do"},
		{"Tab", "jobs, vertices, workers"},
		{"Enter", "open a job or a vertex"},
		{"Esc", "back"},
		{"s", "sort by another column"},
		{"/", "filter; Esc ends it"},
		{"p", "pause"},
		{"Ctrl-L", "draw the screen anew"},
		{"q", "quit"},
	} {
		p.Text(0, y, canvas.Bold, row[0])
		p.Text(10, y, canvas.Plain, row[1])
		y++
	}
	x := p.Text(0, y, canvas.Plain, "TIME ")
	for _, part := range []struct {
		of   live.Share
		name string
	}{{live.Busy(1), "busy"}, {live.Pressured(1), "back-pressured"}} {
		x = p.Text(x, y, part.of.Style, part.of.Fill)
		x = p.Text(x+1, y, canvas.Plain, part.name) + 2
	}
	for _, line := range []string{
		"     · waits for input",
		"MOST is of the busiest subtask",
		"RECORDS: read or, by sources, written",
	} {
		y++
		p.Text(0, y, canvas.Plain, line)
	}
}
