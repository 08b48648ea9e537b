package jobgraph

import "fmt"

// Warnings returns one line for each property of the job that the user may not have
// intended. Such a job runs nevertheless.
func (g *JobGraph) Warnings() []string {
	var warnings []string
	for _, v := range g.Vertices {
		if v.Source && len(v.Splits) == 0 {
			warnings = append(warnings, fmt.Sprintf("warning: job %s reads nothing in %s: its input holds no data, or no files "+
				"(of a directory those are read that lie right in it, and whose names do not begin with _ or .)", g.Name, v.Name))
		}
	}
	return warnings
}
