package jobgraph

import "fmt"

// Warnings returns one line for each property of the job that the user may not have
// intended. Such a job runs nevertheless.
func (g *JobGraph) Warnings() []string {
	var warnings []string
	for _, v := range g.Vertices {
		if v.Source && len(v.Splits) == 0 {
			warnings = append(warnings, fmt.Sprintf("warning: job %s reads nothing in %s: its input has no files, or only empty files "+
				"(from a directory, Bobbin reads only the files directly in it whose names do not begin with _ or .)", g.Name, v.Name))
		}
	}
	return warnings
}
