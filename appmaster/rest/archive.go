package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Archive is what remains of a job for a history server: REST's answers about it, in the form of Flink's
// FsJobArchivist. Flink's HistoryServer and Bobbin's serve the answers under their paths.
type Archive struct {
	Job msg.JobDetails
	Now time.Time
	// Options, Memory and Container are the cluster's, as in Config.
	Options   config.Config
	Memory    memory.Master
	Container *restapi.MasterContainer
	// Granted is when the first container came for the job; zero: it is not known.
	Granted time.Time
	// Subtasks describes a vertex of the job. Errors as those of Gateway.
	Subtasks func(vertex string) (msg.VertexSubtasks, error)
}

// each passes the paths and their answers to a function, until its first error. Each answer is made when its turn comes,
// because it may be large.
func (a Archive) each(write func(path string, answer any) error) error {
	overview := a.Job.Overview()
	if a.Job.End.IsZero() {
		overview.Modified = a.Now
	}
	below := "/jobs/" + string(a.Job.ID)
	for _, part := range []struct {
		path   string
		answer func() any
	}{
		{"/jobs/overview", func() any { return jobsOverviewOf([]msg.JobOverview{overview}, a.Now) }},
		{below, func() any { return jobDetailsOf(a.Job, a.Now) }},
		{below + "/config", func() any { return jobConfigOf(a.Job, a.Options) }},
		{below + "/plan", func() any { return restapi.JobPlanInfo{Plan: restapi.PlanOfJob(a.Job)} }},
		{below + "/exceptions", func() any { return exceptionsOf(a.Job) }},
		{below + "/start", func() any { return spansOf(msg.StartOf(&a.Job, a.Granted)) }},
		{below + "/accumulators", func() any { return jobAccumulatorsOf(a.Job) }},
		{below + "/checkpoints", func() any { return failureBody(withoutCheckpoints) }},
		{below + "/checkpoints/config", func() any { return failureBody(withoutCheckpoints) }},
		{below + "/jobmanager/config", func() any { return clusterConfigOf(a.Options, a.Memory) }},
		{below + "/jobmanager/environment", func() any { return environmentOfProcess(a.Container) }},
	} {
		if err := write(part.path, part.answer()); err != nil {
			return err
		}
	}
	return a.eachOfVertices(below, write)
}

// eachOfVertices is each for the answers about vertices: about each one, and about all together. It asks for each vertex once.
func (a Archive) eachOfVertices(below string, write func(path string, answer any) error) error {
	summaries, attempts := make([]restapi.VertexSummary, len(a.Job.Vertices)), newTimeline(&a.Job, a.Now)
	err := eachVertex(&a.Job, a.Subtasks, func(i int, of *msg.VertexSubtasks, gone error) error {
		v := &a.Job.Vertices[i]
		summaries[i] = summaryOf(v, of)
		attempts.add(i, of)
		path := below + "/vertices/" + v.ID
		if of == nil {
			return write(path, failureBody(gone.Error())) // as REST says it
		}
		return a.eachOfVertex(*of, path, write)
	})
	if err != nil {
		return err
	}
	if err := write(below+"/vertices", verticesOf(&a.Job, summaries, a.Now)); err != nil {
		return err
	}
	return write(below+"/timeline", attempts.answer)
}

// eachOfVertex is each for the answers about one vertex.
func (a Archive) eachOfVertex(v msg.VertexSubtasks, below string, write func(path string, answer any) error) error {
	for _, part := range []struct {
		path   string
		answer func() any
	}{
		{"", func() any { return vertexDetailsOf(v, a.Now) }},
		{"/subtasktimes", func() any { return subtaskTimesOf(v, a.Now) }},
		{"/taskmanagers", func() any { return vertexTaskManagersOf(v, a.Now) }},
		{"/accumulators", func() any { return vertexAccumulatorsOf(&v.VertexDetails) }},
		{"/subtasks/accumulators", func() any { return subtasksAccumulatorsOf(v) }},
	} {
		if err := write(below+part.path, part.answer()); err != nil {
			return err
		}
	}
	for i := range v.Subtasks {
		task := &v.Subtasks[i]
		at := fmt.Sprintf("%s/subtasks/%d", below, i)
		if err := write(at, subtaskOf(i, task, a.Now)); err != nil {
			return err
		}
		for n := range len(task.Earlier) + 1 {
			attempt := task
			if n < len(task.Earlier) {
				attempt = &msg.Subtask{TaskAttempt: task.Earlier[n]}
			}
			path := fmt.Sprintf("%s/attempts/%d", at, attempt.Number)
			err := write(path, subtaskOf(i, attempt, a.Now))
			if err == nil {
				err = write(path+"/accumulators", attemptAccumulatorsOf(string(a.Job.ID), v.ID, i, attempt))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// failureBody is what Flink archives of an answer that is an error.
func failureBody(text string) restapi.FailureBody { return restapi.FailureBody{Errors: []string{text}} }

// Write writes the archive, one answer after the other.
func (a Archive) Write(w io.Writer) error {
	_, err := io.WriteString(w, `{"archive":[`)
	separator := ""
	if err == nil {
		err = a.each(func(path string, answer any) error {
			defer func() { separator = "," }()
			return writeArchived(w, separator, path, answer)
		})
	}
	if err == nil {
		_, err = io.WriteString(w, "]}\n")
	}
	if err != nil {
		return fmt.Errorf("write the archive of job %s: %w", a.Job.ID, err)
	}
	return nil
}

// writeArchived writes an answer as Flink's ArchivedJson: the answer's JSON is a string.
func writeArchived(w io.Writer, separator, path string, answer any) error {
	name, err := json.Marshal(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `%s{"path":%s,"json":"`, separator, name)
	encoder := json.NewEncoder(quoted{w})
	encoder.SetEscapeHTML(false)
	err = errors.Join(err, encoder.Encode(answer))
	if err == nil {
		_, err = io.WriteString(w, `"}`)
	}
	return err
}

// quoted writes JSON as the content of a JSON string. JSON has no other control characters than the line end
// that an Encoder writes, which is left out.
type quoted struct{ to io.Writer }

func (q quoted) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		n := bytes.IndexAny(rest, "\"\\\n")
		if n < 0 {
			n = len(rest)
		}
		_, err := q.to.Write(rest[:n])
		if err == nil && n < len(rest) && rest[n] != '\n' {
			_, err = q.to.Write([]byte{'\\', rest[n]})
		}
		if err != nil {
			return 0, err
		}
		rest = rest[min(n+1, len(rest)):]
	}
	return len(text), nil
}
