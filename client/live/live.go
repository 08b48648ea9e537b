// Package live describes a running job for people in a terminal: how far each vertex is, what its tasks do, and what
// makes the job slow. It is pure: it knows answers of REST, and draws into pictures.
package live

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Job is a job at one time.
type Job struct {
	ID         ids.JobID
	Name       string
	Status     msg.JobStatus
	Start, End time.Time // End is zero while it runs
	Now        time.Time // by the ApplicationMaster's clock
	Restarts   int       // of its regions
	Troubled   bool      // tasks have failed, or may have failed
	Vertices   []Vertex  // in the order of the plan
	// Slow says in words where the job is slow. It is "" if the ApplicationMaster says nothing.
	Slow string
	// Note says how the job runs, if users would not expect it; Left, what all of its tasks wait for that are left. Both may be "".
	Note, Left string
}

// Vertex is a vertex of a job. Records, bytes and rates are those of all its tasks.
type Vertex struct {
	ID, Name    string
	Status      msg.ExecutionState
	Parallelism int
	Tasks       map[msg.ExecutionState]int // by state; not changed
	Inputs      []string                   // ids of the vertices that it reads from
	Read        Amount                     // from its inputs or, by a source, from files
	Written     Amount
	Splits      restapi.SplitProgress // of a source; All is 0 if it reads no splits, or if they are not known
	Measured    bool                  // what follows is known: the tasks of some seconds
	Activity    restapi.VertexActivity
	Rates       restapi.VertexRates
}

// Amount is a number of records with their bytes.
type Amount struct{ Records, Bytes int64 }

// JobOf joins the two answers about a job. That about activity is empty from an ApplicationMaster of an earlier release.
func JobOf(d restapi.JobDetailsInfo, a restapi.JobVertices) Job {
	job := Job{
		ID: d.ID, Name: d.Name, Status: d.State, Start: time.UnixMilli(d.StartTime), Now: time.UnixMilli(d.Now),
		Note: d.Note, Left: d.Left, Restarts: a.Restarts, Troubled: troubled(d.State, a), Vertices: make([]Vertex, len(d.Vertices)),
	}
	if a.Slow != nil && d.State == msg.JobRunning {
		job.Slow = a.Slow.Words
	}
	if d.EndTime >= 0 {
		job.End = time.UnixMilli(d.EndTime)
	}
	inputs := make(map[string][]string)
	for _, node := range d.Plan.Nodes {
		for _, input := range node.Inputs {
			inputs[node.ID] = append(inputs[node.ID], input.ID)
		}
	}
	for i, v := range d.Vertices {
		vertex := Vertex{
			ID: v.ID, Name: v.Name, Status: v.Status, Parallelism: v.Parallelism, Tasks: v.Tasks, Inputs: inputs[v.ID],
			Read: Amount{v.Metrics.ReadRecords, v.Metrics.ReadBytes}, Written: Amount{v.Metrics.WriteRecords, v.Metrics.WriteBytes},
		}
		at := slices.IndexFunc(a.Vertices, func(s restapi.VertexSummary) bool { return s.ID == v.ID })
		if at >= 0 {
			vertex.add(a.Vertices[at])
		}
		job.Vertices[i] = vertex
	}
	return job
}

// troubled tells whether a failure of a job may have a word. An ApplicationMaster of an earlier release does not say so, and one that
// has no answer about activity does not even tell of restarts: then there may be a cause, and the user of Job asks for it.
func troubled(state msg.JobStatus, a restapi.JobVertices) bool {
	return a.Troubled || a.Restarts > 0 || a.Now == 0 || state == msg.JobFailed || state == msg.JobFailing || state == msg.JobRestarting
}

func (v *Vertex) add(s restapi.VertexSummary) {
	if s.Splits != nil {
		v.Splits = *s.Splits
	}
	if s.Activity != nil && s.Rates != nil && s.Activity.Tasks > 0 {
		v.Measured, v.Activity, v.Rates = true, *s.Activity, *s.Rates
	}
}

// Source tells whether a vertex reads from no other one.
func (v Vertex) Source() bool { return len(v.Inputs) == 0 }

// Rate is the rate that tells how fast a vertex works, in records in a second: what it reads or, for a source, writes.
func (v Vertex) Rate() float64 {
	if v.Source() {
		return v.Rates.WriteRecords
	}
	return v.Rates.ReadRecords
}

// ByteRate is the rate of the bytes of these records, in bytes in a second.
func (v Vertex) ByteRate() float64 {
	if v.Source() {
		return v.Rates.WriteBytes
	}
	return v.Rates.ReadBytes
}

// Done is how much of the work of a vertex is done, from 0 to 1: splits, if it reads some, or tasks.
func (v Vertex) Done() float64 {
	switch {
	case v.Status == msg.ExecutionFinished:
		return 1
	case v.Splits.All > 0:
		return v.Splits.Done()
	case v.Parallelism > 0:
		return float64(v.Tasks[msg.ExecutionFinished]) / float64(v.Parallelism)
	}
	return 0
}

// Lasts is for how long the job has run, or did run.
func (j Job) Lasts() time.Duration {
	if !j.End.IsZero() {
		return j.End.Sub(j.Start)
	}
	return j.Now.Sub(j.Start)
}
