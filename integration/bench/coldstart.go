package main

import (
	"context"
	"os"
	"time"
)

const coldRuns = 9

// coldStart measures short commands, and the size of the installation.
func coldStart(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Commands",
		text:  "The time runs from the start of the process to its end, as its parent sees it.",
		head:  []string{"command", "to reach", "time", "peak memory"},
	}
	for _, command := range []string{"version", "applications"} {
		var walls []time.Duration
		var peaks []int64
		for range r.runs(coldRuns) {
			took, _, err := r.run(ctx, r.program("bobbin"), command)
			if err != nil {
				return t, err
			}
			walls, peaks = append(walls, took.Wall), append(peaks, took.Peak)
		}
		t.row("`bobbin "+command+"`", "40 ms, 30 MB", spread(walls, millis), spread(peaks, megabytes))
	}
	for _, name := range []string{"bobbin", "examples/wordcount-tuned"} {
		info, err := os.Stat(r.program(name))
		if err != nil {
			return t, err
		}
		t.row("size of `"+name+"`", "", "", megabytes(info.Size()))
	}
	return t, nil
}
