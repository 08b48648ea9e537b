package cli

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// mostDescribed is of how many jobs status asks which vertices wait for inputs: a session may have a thousand.
const mostDescribed = 12

// inputsWait is a job of which vertices wait for inputs, for -o json.
type inputsWait struct {
	Job ids.JobID `json:"job"`
	// Left says what the job waits for if all of its tasks that are left wait for others.
	Left     string       `json:"left,omitempty"`
	Vertices []vertexWait `json:"vertices"`
}

// vertexWait is a vertex whose tasks wait for the output of others.
type vertexWait struct {
	Vertex string `json:"vertex"`
	Name   string `json:"name"`
	Tasks  int    `json:"tasks"`
	Words  string `json:"words"`
}

// inputsWaitOf lists the first running jobs of which tasks wait for inputs. A job that has ended meanwhile is not in the list.
func inputsWaitOf(ctx context.Context, master *reached, jobs []client.JobOverview) ([]inputsWait, error) {
	list, asked := []inputsWait{}, 0
	for _, j := range jobs {
		if j.Status != msg.JobRunning && j.Status != msg.JobRestarting || j.Created == 0 || asked == mostDescribed {
			continue
		}
		asked++
		details, err := master.Details(ctx, j.ID)
		if client.NotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		wait := inputsWait{Job: j.ID, Left: details.Left}
		for _, v := range details.Vertices {
			if v.Waits != nil {
				wait.Vertices = append(wait.Vertices, vertexWait{v.ID, v.Name, v.Waits.Tasks, v.Waits.Words})
			}
		}
		if len(wait.Vertices) > 0 {
			list = append(list, wait)
		}
	}
	return list, nil
}

// inputFacts are the vertices that wait for inputs, for people.
func inputFacts(list []inputsWait) (facts terminal.Facts) {
	for _, wait := range list {
		if wait.Left != "" {
			facts = append(facts, [2]string{"waits", fmt.Sprintf("job %s: %s", wait.Job, wait.Left)})
		}
		for _, v := range wait.Vertices {
			facts = append(facts, [2]string{"waits", fmt.Sprintf("job %s, vertex “%s”: %s", wait.Job, v.Name, v.Words)})
		}
	}
	return facts
}
