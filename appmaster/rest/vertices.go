package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// unassigned is Flink's name for the worker of a task that has none yet.
const unassigned = "(unassigned)"

// vertexSubtasks asks for the vertex of a path.
func (s *Server) vertexSubtasks(r *http.Request) (msg.VertexSubtasks, error) {
	job, err := jobID(r)
	if err != nil {
		return msg.VertexSubtasks{}, err
	}
	vertex, err := vertexID(r)
	if err != nil {
		return msg.VertexSubtasks{}, err
	}
	return s.gateway.VertexSubtasks(r.Context(), job, vertex)
}

// vertexID reads the path's vertex id.
func vertexID(r *http.Request) (string, error) {
	text := r.PathValue("vertex")
	if !isID(text) {
		return "", badRequest("%q is not a vertex id: a vertex id has 32 hex digits", text)
	}
	return text, nil
}

// attempt asks for the attempt of a path: an earlier one if the path names it, or the current one. Of an earlier one, only the
// TaskAttempt is known.
func (s *Server) attempt(r *http.Request) (subtask int, attempt msg.Subtask, err error) {
	if subtask, err = index(r, "subtask"); err != nil {
		return 0, attempt, err
	}
	number, given := 0, r.PathValue("attempt") != ""
	if given {
		if number, err = index(r, "attempt"); err != nil {
			return 0, attempt, err
		}
	}
	v, err := s.vertexSubtasks(r)
	if err != nil {
		return 0, attempt, err
	}
	if subtask >= len(v.Subtasks) {
		return 0, attempt, &refusal{http.StatusNotFound, fmt.Sprintf("vertex %s has no subtask %d, only 0 to %d", v.ID, subtask, len(v.Subtasks)-1)}
	}
	task := v.Subtasks[subtask]
	if !given || task.Number == number {
		return subtask, task, nil
	}
	i := slices.IndexFunc(task.Earlier, func(a msg.TaskAttempt) bool { return a.Number == number })
	if i < 0 {
		return 0, attempt, &refusal{http.StatusNotFound, fmt.Sprintf("subtask %d of vertex %s has no attempt %d, or it is not kept", subtask, v.ID, number)}
	}
	return subtask, msg.Subtask{TaskAttempt: task.Earlier[i]}, nil
}

// index reads a number from 0 of a path.
func index(r *http.Request, name string) (int, error) {
	n, err := strconv.Atoi(r.PathValue(name))
	if err != nil || n < 0 {
		return 0, badRequest("%q is no %s: give its number, 0 or more", r.PathValue(name), name)
	}
	return n, nil
}

// vertex answers GET /jobs/{job}/vertices/{vertex}. With backpressure=true the answer has that of …/backpressure, too: the page
// shows both, and would otherwise ask twice as often.
func (s *Server) vertex(r *http.Request) (any, error) {
	with, err := truth(r, "backpressure")
	if err != nil {
		return nil, err
	}
	v, err := s.vertexSubtasks(r)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	answer := vertexDetailsOf(v, now)
	if with {
		pressure := backPressureOf(v, now)
		answer.BackPressure = &pressure
	}
	return answer, nil
}

// truth reads a parameter that is true or false; absent: false.
func truth(r *http.Request, name string) (bool, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return false, nil
	}
	set, err := strconv.ParseBool(given)
	if err != nil {
		return false, badRequest("%s=%s is neither true nor false", name, given)
	}
	return set, nil
}

func vertexDetailsOf(v msg.VertexSubtasks, now time.Time) restapi.JobVertexDetails {
	answer := restapi.JobVertexDetails{
		ID: v.ID, Name: v.Name, Parallelism: v.Parallelism, MaxParallelism: v.Parallelism, Now: now.UnixMilli(),
		Subtasks: make([]restapi.SubtaskAttempt, len(v.Subtasks)),
	}
	for i := range v.Subtasks {
		answer.Subtasks[i] = subtaskOf(i, &v.Subtasks[i], now)
	}
	answer.Aggregated = aggregatedOf(answer.Subtasks)
	return answer
}

// subtask answers GET …/subtasks/{subtask} and …/subtasks/{subtask}/attempts/{attempt}.
func (s *Server) subtask(r *http.Request) (any, error) {
	i, attempt, err := s.attempt(r)
	if err != nil {
		return nil, err
	}
	return subtaskOf(i, &attempt, time.Now()), nil
}

// subtaskOf describes the current attempt of a subtask, with the others that have not ended.
func subtaskOf(subtask int, task *msg.Subtask, now time.Time) restapi.SubtaskAttempt {
	info := attemptOf(subtask, &task.TaskAttempt, now)
	for i := range task.Earlier {
		if other := &task.Earlier[i]; !other.State.Final() {
			info.Others = append(info.Others, attemptOf(subtask, other, now))
		}
	}
	return info
}

func attemptOf(subtask int, a *msg.TaskAttempt, now time.Time) restapi.SubtaskAttempt {
	started, ended := a.Entered.At(msg.ExecutionDeploying), time.Time{}
	if a.State.Final() {
		ended = a.Entered.At(a.State)
	}
	info := restapi.SubtaskAttempt{
		Subtask: subtask, Status: a.State, Attempt: a.Number, Endpoint: hostOf(a), Host: hostOf(a), TaskManagerID: unassigned,
		StartTime: millis(started), StartTimeAgain: millis(started), EndTime: millis(ended), Duration: elapsed(started, ended, now),
		Metrics: ioOf(a.Traffic, a.Times), StatusDuration: statusDuration(a, now),
	}
	if a.Resource != "" {
		info.TaskManagerID = string(a.Resource)
	}
	return info
}

// hostOf is the host of an attempt's worker.
func hostOf(a *msg.TaskAttempt) string {
	if a.Node == "" {
		return unassigned
	}
	return a.Node
}

func ioOf(t msg.Traffic, times msg.TaskTimes) restapi.IOMetrics {
	return restapi.IOMetrics{
		ReadBytes: t.ReadBytes, ReadBytesComplete: true,
		WriteBytes: t.WriteBytes, WriteBytesComplete: true,
		ReadRecords: t.ReadRecords, ReadRecordsComplete: true,
		WriteRecords: t.WriteRecords, WriteRecordsComplete: true,
		BackpressuredTime: times.BackPressured.Milliseconds(), IdleTime: times.Idle.Milliseconds(), BusyTime: float64(times.Busy.Milliseconds()),
	}
}

// statusDuration is for how long an attempt was in its states. A state lasts until the next one that the attempt entered.
func statusDuration(a *msg.TaskAttempt, now time.Time) restapi.StatusDuration {
	duration := func(of msg.ExecutionState) int64 {
		since := a.Entered[of.Index()]
		if since == 0 {
			return -1
		}
		if a.State == of {
			return now.UnixMilli() - since
		}
		until := int64(0)
		for _, at := range a.Entered[of.Index()+1:] {
			if at != 0 && (until == 0 || at < until) {
				until = at
			}
		}
		return max(until-since, 0)
	}
	return restapi.StatusDuration{
		Created: duration(msg.ExecutionCreated), Scheduled: duration(msg.ExecutionScheduled), Deploying: duration(msg.ExecutionDeploying),
		Initializing: -1, Running: duration(msg.ExecutionRunning),
	}
}

// subtaskTimes answers GET …/subtasktimes.
func (s *Server) subtaskTimes(r *http.Request) (any, error) {
	v, err := s.vertexSubtasks(r)
	if err != nil {
		return nil, err
	}
	return subtaskTimesOf(v, time.Now()), nil
}

func subtaskTimesOf(v msg.VertexSubtasks, now time.Time) restapi.SubtaskTimes {
	answer := restapi.SubtaskTimes{ID: v.ID, Name: v.Name, Now: now.UnixMilli(), Subtasks: make([]restapi.SubtaskTime, len(v.Subtasks))}
	for i := range v.Subtasks {
		a := &v.Subtasks[i].TaskAttempt
		ended := time.Time{}
		if a.State.Final() {
			ended = a.Entered.At(a.State)
		}
		entered := func(s msg.ExecutionState) int64 { return a.Entered[s.Index()] }
		answer.Subtasks[i] = restapi.SubtaskTime{
			Subtask: i, Host: hostOf(a), Endpoint: hostOf(a), Duration: elapsed(a.Entered.At(msg.ExecutionScheduled), ended, now),
			Timestamps: restapi.StateTimestamps{
				Created: entered(msg.ExecutionCreated), Scheduled: entered(msg.ExecutionScheduled), Deploying: entered(msg.ExecutionDeploying),
				Running: entered(msg.ExecutionRunning), Finished: entered(msg.ExecutionFinished), Canceling: entered(msg.ExecutionCanceling),
				Canceled: entered(msg.ExecutionCanceled), Failed: entered(msg.ExecutionFailed),
			},
		}
	}
	return answer
}
