package diagnosis

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// InputsOf says what the tasks of a vertex wait for that are CREATED until others have ended; nil: there are none. v is one of the
// job's vertices.
func InputsOf(d *msg.JobDetails, v *msg.VertexDetails) *restapi.InputWait {
	if v.Blocked == 0 {
		return nil
	}
	wait := &restapi.InputWait{Tasks: v.Blocked, For: []restapi.MissingInput{}}
	all := 0
	var outputs []string
	for _, in := range v.Inputs {
		if in.Missing > 0 {
			all += in.Missing
			wait.For = append(wait.For, restapi.MissingInput{Vertex: in.Vertex, Tasks: in.Missing})
			outputs = append(outputs, tasks(in.Missing)+" of "+nameOf(d, in.Vertex))
		}
	}
	brief, words := "for inputs of "+tasks(all), "for the output of "+listed(outputs)
	switch {
	case d.AwaitsWorkers:
		brief, words = "for earlier workers", forWorkers
	case all == 0: // it commits
		brief, words = "until others are done", "until all tasks are done that read the same input"
	}
	verb := "wait"
	if v.Blocked == 1 {
		verb = "waits"
	}
	wait.Words = fmt.Sprintf("%s %s %s", tasks(v.Blocked), verb, words)
	wait.Brief = "waits " + brief
	if v.Blocked < v.Parallelism {
		wait.Brief = fmt.Sprintf("%d %s %s", v.Blocked, verb, brief)
	}
	return wait
}

// forWorkers is the wait of a job that another ApplicationMaster has begun.
const forWorkers = "until the workers of the earlier ApplicationMaster have said which partitions they hold"

// LeftOf says what a job waits for if all of its tasks that are left wait for others: "all that is left waits for “read”"; "": some
// tasks are worked on, or none waits for others.
func LeftOf(d *msg.JobDetails) string {
	if d.Status != msg.JobRunning && d.Status != msg.JobRestarting {
		return ""
	}
	blocked := false
	var waited []string
	for i := range d.Vertices {
		v := &d.Vertices[i]
		if v.Tasks[msg.ExecutionDeploying]+v.Tasks[msg.ExecutionRunning]+v.Tasks[msg.ExecutionCanceling] > 0 {
			return ""
		}
		blocked = blocked || v.Blocked > 0
		if v.Blocked+v.Tasks[msg.ExecutionFinished] < v.Parallelism {
			waited = append(waited, named(v.Name))
		}
	}
	switch {
	case !blocked:
		return ""
	case d.AwaitsWorkers:
		return "all that is left waits " + forWorkers
	case len(waited) == 0:
		return ""
	}
	const most = 2 // names; the others are counted
	switch more := len(waited) - most; {
	case more == 1:
		waited = append(waited[:most], "1 more vertex")
	case more > 1:
		waited = append(waited[:most], fmt.Sprintf("%d more vertices", more))
	}
	return "all that is left waits for " + listed(waited)
}

// tasks is a number of tasks in words.
func tasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// listed is an enumeration: "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// nameOf quotes the name of the vertex with this id.
func nameOf(d *msg.JobDetails, id string) string {
	for i := range d.Vertices {
		if d.Vertices[i].ID == id {
			return named(d.Vertices[i].Name)
		}
	}
	return "vertex " + id
}
