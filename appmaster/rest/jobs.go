package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/diagnosis"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// executionStates and jobStatuses return all states that Flink counts. Bobbin's jobs never have some of
// them.
func executionStates() []msg.ExecutionState {
	return []msg.ExecutionState{
		msg.ExecutionCreated, msg.ExecutionScheduled, msg.ExecutionDeploying, msg.ExecutionRunning,
		msg.ExecutionFinished, msg.ExecutionCanceling, msg.ExecutionCanceled, msg.ExecutionFailed,
		"RECONCILING", "INITIALIZING",
	}
}

func jobStatuses() []msg.JobStatus {
	return []msg.JobStatus{
		msg.JobInitializing, msg.JobCreated, msg.JobRunning, msg.JobFailing, msg.JobFailed, msg.JobCancelling,
		msg.JobCanceled, msg.JobFinished, msg.JobRestarting, msg.JobSuspended, "RECONCILING",
	}
}

// slotSharingGroup returns the id of a slot sharing group. It depends only on the group's name.
func slotSharingGroup(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// jobID reads the path's job id.
func jobID(r *http.Request) (ids.JobID, error) { return parseJobID(r.PathValue("job")) }

func parseJobID(text string) (ids.JobID, error) {
	if !isID(text) {
		return "", badRequest("%q is not a job id: a job id has 32 hex digits", text)
	}
	return ids.JobID(text), nil
}

// identified checks the form of the path's job and trigger, if it has them, so that a malformed id is
// refused first.
func identified(r *http.Request) error {
	if text := r.PathValue("job"); text != "" {
		if _, err := parseJobID(text); err != nil {
			return err
		}
	}
	return trigger(r)
}

// isID reports whether a text has the form of an id.
func isID(text string) bool { return restapi.IsJobID(text) }

func (s *Server) details(r *http.Request) (msg.JobDetails, error) {
	id, err := jobID(r)
	if err != nil {
		return msg.JobDetails{}, err
	}
	return s.gateway.JobDetails(r.Context(), id)
}

func (s *Server) jobs(r *http.Request) (any, error) {
	jobs, err := s.gateway.Jobs(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.JobIDsWithStatus{Jobs: make([]restapi.JobIDWithStatus, 0, len(jobs))}
	for _, j := range jobs {
		answer.Jobs = append(answer.Jobs, restapi.JobIDWithStatus{ID: j.ID, Status: j.Status})
	}
	return answer, nil
}

func (s *Server) jobsOverview(r *http.Request) (any, error) {
	jobs, err := s.gateway.Jobs(r.Context())
	if err != nil {
		return nil, err
	}
	return jobsOverviewOf(jobs, time.Now()), nil
}

func jobsOverviewOf(jobs []msg.JobOverview, now time.Time) restapi.MultipleJobsDetails {
	answer := restapi.MultipleJobsDetails{Jobs: make([]restapi.JobOverview, 0, len(jobs))}
	for _, j := range jobs {
		tasks := map[string]int{"total": j.TotalTasks}
		for _, state := range executionStates() {
			tasks[strings.ToLower(string(state))] = j.Tasks[state]
		}
		answer.Jobs = append(answer.Jobs, restapi.JobOverview{
			ID: j.ID, Name: j.Name, State: j.Status,
			StartTime: millis(j.Start), EndTime: millis(j.End), Duration: elapsed(j.Start, j.End, now),
			LastModification: millis(j.Modified),
			Tasks:            tasks,
			Note:             j.Note,
		})
	}
	return answer
}

func (s *Server) job(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return jobDetailsOf(d, time.Now()), nil
}

func jobDetailsOf(d msg.JobDetails, now time.Time) restapi.JobDetailsInfo {
	info := restapi.JobDetailsInfo{
		ID: d.ID, Name: d.Name, State: d.Status, JobType: restapi.JobTypeBatch,
		StartTime: millis(d.Start), EndTime: millis(d.End), Duration: elapsed(d.Start, d.End, now),
		MaxParallelism: -1,
		Now:            now.UnixMilli(),
		Timestamps:     make(map[msg.JobStatus]int64),
		Vertices:       make([]restapi.VertexInfo, 0, len(d.Vertices)),
		StatusCounts:   make(map[msg.ExecutionState]int),
		Plan:           restapi.PlanOfJob(d),
		Note:           d.Note,
		Left:           diagnosis.LeftOf(&d),
	}
	for _, status := range jobStatuses() {
		info.Timestamps[status] = max(millis(d.Timestamps[status]), 0)
	}
	for _, state := range executionStates() {
		info.StatusCounts[state] = 0
	}
	for i := range d.Vertices {
		v := vertexOf(d.Vertices[i], now)
		v.Waits = diagnosis.InputsOf(&d, &d.Vertices[i])
		info.Vertices = append(info.Vertices, v)
		info.StatusCounts[v.Status]++
	}
	return info
}

func vertexOf(v msg.VertexDetails, now time.Time) restapi.VertexInfo {
	info := restapi.VertexInfo{
		ID: v.ID, SlotSharingGroupID: slotSharingGroup(v.Group), Name: v.Name,
		MaxParallelism: v.Parallelism, Parallelism: v.Parallelism,
		Status:    v.Status,
		StartTime: millis(v.Start), EndTime: millis(v.End), Duration: elapsed(v.Start, v.End, now),
		Tasks:   make(map[msg.ExecutionState]int),
		Metrics: ioOf(v.Traffic, v.Times),
	}
	for _, state := range executionStates() {
		info.Tasks[state] = v.Tasks[state]
	}
	return info
}

func (s *Server) jobStatus(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return restapi.JobStatusInfo{Status: d.Status}, nil
}

func (s *Server) jobPlan(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return restapi.JobPlanInfo{Plan: restapi.PlanOfJob(d)}, nil
}

// jobExceptions answers GET …/exceptions?maxExceptions=N with the N newest entries of the job's history,
// and as many tasks. Without N it returns all that are kept.
func (s *Server) jobExceptions(r *http.Request) (any, error) {
	most := math.MaxInt
	if text := r.URL.Query().Get("maxExceptions"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, badRequest("maxExceptions must be a number, 0 or more, not %q", text)
		}
		most = n
	}
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	answer := exceptionsOf(d)
	if len(answer.AllExceptions) > most {
		answer.AllExceptions, answer.Truncated = answer.AllExceptions[:most], true
	}
	if len(answer.History.Entries) > most {
		answer.History.Entries, answer.History.Truncated = answer.History.Entries[:most], true
	}
	return answer, nil
}

func exceptionsOf(d msg.JobDetails) restapi.JobExceptions {
	answer := restapi.JobExceptions{
		AllExceptions: []restapi.TaskException{}, // Flink sends an empty list while there is no root
		History:       restapi.ExceptionHistory{Entries: make([]restapi.ExceptionInfo, 0, len(d.Exceptions))},
	}
	if d.Root != nil {
		text, at := stackOf(d.Root.Failure), d.Root.Time.UnixMilli()
		answer.RootException, answer.Timestamp = &text, &at
		answer.AllExceptions = taskExceptions(d)
		answer.Truncated = len(d.TaskFailures) < tasksIn(d, msg.ExecutionFailed)
	}
	for _, e := range d.Exceptions {
		answer.History.Entries = append(answer.History.Entries, restapi.ExceptionInfo{
			ExceptionName: exceptionName(e.Failure), Stacktrace: stackOf(e.Failure), Timestamp: e.Time.UnixMilli(),
			TaskName: e.Task, Location: e.Location, Endpoint: e.Location, TaskManagerID: string(e.Resource),
			FailureLabels: map[string]string{}, ConcurrentExceptions: []json.RawMessage{},
		})
	}
	return answer
}

// taskExceptions returns the failures of the tasks that are FAILED.
func taskExceptions(d msg.JobDetails) []restapi.TaskException {
	told := make([]restapi.TaskException, 0, len(d.TaskFailures))
	for _, e := range d.TaskFailures {
		told = append(told, restapi.TaskException{
			Exception: stackOf(e.Failure), Task: e.Task, Location: e.Location, Endpoint: e.Location,
			Timestamp: e.Time.UnixMilli(), TaskManagerID: string(e.Resource),
		})
	}
	return told
}

// tasksIn counts the tasks of a job that are in a state.
func tasksIn(d msg.JobDetails, state msg.ExecutionState) int {
	n := 0
	for _, v := range d.Vertices {
		n += v.Tasks[state]
	}
	return n
}

// exceptionName takes the place of a Java class: "panic" if user code panicked, and so left a stack.
func exceptionName(f msg.Failure) string {
	if f.Stack != "" {
		return "panic"
	}
	return "error"
}

func stackOf(f msg.Failure) string {
	if f.Stack == "" {
		return f.Message
	}
	return f.Message + "\n" + f.Stack
}

func (s *Server) executionResult(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	if !d.Status.GloballyTerminal() {
		return restapi.ExecutionResult{Status: restapi.QueueStatus{ID: "IN_PROGRESS"}}, nil
	}
	result := &restapi.JobExecutionResult{
		ID: d.ID, AccumulatorResults: map[string]json.RawMessage{}, NetRuntime: d.End.Sub(d.Start).Milliseconds(),
	}
	switch d.Status {
	case msg.JobFinished:
		result.ApplicationStatus = msg.ApplicationSucceeded
	case msg.JobCanceled:
		result.ApplicationStatus = msg.ApplicationCanceled
	default:
		result.ApplicationStatus = msg.ApplicationFailed
		if d.Root != nil {
			result.FailureCause = causeOf(exceptionName(d.Root.Failure), stackOf(d.Root.Failure))
		}
	}
	return restapi.ExecutionResult{Status: restapi.QueueStatus{ID: "COMPLETED"}, Result: result}, nil
}

func causeOf(class, stackTrace string) *restapi.FailureCause {
	return &restapi.FailureCause{Class: class, StackTrace: stackTrace, Serialized: []byte{}}
}

// cancelJob answers Flink's PATCH /jobs/:jobid?mode=cancel, the only mode. Flink has removed mode=stop, and
// answers it with errStopped.
func (s *Server) cancelJob(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	switch mode := r.URL.Query().Get("mode"); mode {
	case "", "cancel":
	case "stop":
		return nil, errStopped
	default:
		return nil, badRequest("mode %q is unknown: use mode=cancel", mode)
	}
	return restapi.Empty{}, s.gateway.CancelJob(r.Context(), id)
}

// errStopped is Flink's answer, with its status, to the mode that it has removed.
var errStopped = &refusal{http.StatusPermanentRedirect, "mode=stop is not supported any more: use mode=cancel, or POST …/stop to stop the job with a savepoint"}

// stopJob answers GET …/yarn-stop, which means mode=stop through YARN's proxy.
func (s *Server) stopJob(r *http.Request) (any, error) {
	if _, err := jobID(r); err != nil {
		return nil, err
	}
	return nil, errStopped
}
