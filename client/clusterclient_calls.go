package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// HasProgram tells whether a program need not be uploaded: the cluster's owner has it in
// the cache of his staging area.
func (c *ClusterClient) HasProgram(ctx context.Context, sha256 string) (bool, error) {
	err := c.send(ctx, http.MethodGet, "/programs/"+url.PathEscape(sha256), nil)
	if NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// errStalled says that an ApplicationMaster takes no more of an upload.
var errStalled = fmt.Errorf("the ApplicationMaster has accepted no data for %v", requestTimeout)

// UploadProgram uploads a program, from which jobs can be submitted then. It takes as long
// as the program is large, if the ApplicationMaster goes on to take it. progress is called
// with the bytes sent so far.
func (c *ClusterClient) UploadProgram(ctx context.Context, p program.Program, progress func(done int64)) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errStalled) {
			err = fmt.Errorf("upload program: %w", errStalled)
		}
	}()
	file, err := os.Open(p.Path)
	if err != nil {
		return fmt.Errorf("upload program: %w", err)
	}
	defer file.Close() // read only: nothing to lose
	body := &sent{file: file, progress: progress, stalled: time.AfterFunc(continueTime+requestTimeout, func() { cancel(errStalled) })}
	defer body.end()
	query := url.Values{"name": {p.Name}, "sha256": {p.SHA256}}
	path := "/programs?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, body)
	if err != nil {
		return fmt.Errorf("upload program: %w", err)
	}
	request.ContentLength = p.Size
	request.Header.Set("Content-Type", "application/octet-stream")
	// A server that does not want it says so before it is sent.
	request.Header.Set("Expect", "100-continue")
	return c.do(request, path, nil)
}

// sent tells how much of a file has been read. Who sends it may read on when the answer is
// there.
type sent struct {
	file    *os.File
	stalled *time.Timer // ends the upload

	mu       sync.Mutex // guards what follows
	done     int64
	progress func(done int64) // nil: the answer is there
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		s.stalled.Reset(requestTimeout)
		s.done += int64(n)
		s.progress(s.done)
	}
	return n, err
}

func (s *sent) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled.Stop()
	s.progress = nil
}

// submit submits a job, which has an id, to a session, which has its program: see Submission.
// What was not sent before an error the session does not know of.
func (c *ClusterClient) submit(ctx context.Context, job restapi.JobSubmission) (sent bool, err error) {
	var wrote atomic.Bool // by a goroutine of the transport
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	err = c.send(ctx, http.MethodPost, "/jobs", job)
	return wrote.Load(), err
}

// Heartbeat says that a job's client lives. until is for Flink's form of it: the session
// counts by its own clock.
func (c *ClusterClient) Heartbeat(ctx context.Context, id ids.JobID, until time.Time) error {
	return c.send(ctx, http.MethodPatch, jobPath(id)+"/clientHeartbeat", restapi.ClientHeartbeat{ExpiredTimestamp: until.UnixMilli()})
}

// Driver is a program that runs beside the master of a session.
type Driver struct {
	ID       string // of this run
	Name     string // of the program
	Started  time.Time
	MemoryMB int // that its processes hold
	Jobs     int // that it has submitted
}

// Drivers lists the programs that run beside the master. A cluster that is no session has
// none.
func (c *ClusterClient) Drivers(ctx context.Context) ([]Driver, error) {
	var answer restapi.Drivers
	err := c.get(ctx, "/drivers", &answer)
	if NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	drivers := make([]Driver, 0, len(answer.Drivers))
	for _, d := range answer.Drivers {
		drivers = append(drivers, Driver{d.ID, d.Name, time.UnixMilli(d.Started), int(d.Memory >> 20), d.Jobs})
	}
	return drivers, nil
}

// EndDriver ends a program that runs beside the master, and waits for that. Its jobs go on.
// NotFound is true of the error where there is none of this id.
func (c *ClusterClient) EndDriver(ctx context.Context, id string) error {
	return c.send(ctx, http.MethodDelete, "/drivers/"+url.PathEscape(id), nil)
}

// Cancel begins to cancel a job. One that is being cancelled, or is CANCELED, is no error.
func (c *ClusterClient) Cancel(ctx context.Context, id ids.JobID) error {
	return c.send(ctx, http.MethodPatch, jobPath(id)+"?mode=cancel", nil)
}

// Stop ends a job with a savepoint, which no ApplicationMaster can yet: its answer says so.
func (c *ClusterClient) Stop(ctx context.Context, id ids.JobID) error {
	return c.send(ctx, http.MethodPost, jobPath(id)+"/stop", nil)
}

// ShutDown ends the cluster, with all its jobs. The ApplicationMaster ends some time after
// its answer.
func (c *ClusterClient) ShutDown(ctx context.Context) error {
	return c.send(ctx, http.MethodDelete, "/cluster", nil)
}

// Plan is the plan of a job that runs or has run.
func (c *ClusterClient) Plan(ctx context.Context, id ids.JobID) (restapi.JobPlan, error) {
	var answer restapi.JobPlanInfo
	err := c.get(ctx, jobPath(id)+"/plan", &answer)
	return answer.Plan, err
}

// JobOverview is a job in a list.
type JobOverview struct {
	ID     ids.JobID
	Name   string
	Status msg.JobStatus
	Start  time.Time
	End    time.Time // zero while it runs
	Tasks  int       // of all vertices
	// Finished and Running are how many tasks are so.
	Finished, Running int
}

// Jobs lists the jobs that the cluster runs, and those that it still knows, in no order.
func (c *ClusterClient) Jobs(ctx context.Context) ([]JobOverview, error) {
	var answer restapi.MultipleJobsDetails
	if err := c.get(ctx, "/jobs/overview", &answer); err != nil {
		return nil, err
	}
	jobs := make([]JobOverview, len(answer.Jobs))
	for i, j := range answer.Jobs {
		jobs[i] = JobOverview{
			ID: j.ID, Name: j.Name, Status: j.State, Start: time.UnixMilli(j.StartTime),
			Tasks: j.Tasks["total"], Finished: j.Tasks["finished"], Running: j.Tasks["running"],
		}
		if j.EndTime >= 0 {
			jobs[i].End = time.UnixMilli(j.EndTime)
		}
	}
	return jobs, nil
}

// Overview is what a cluster has and does.
type Overview struct {
	Workers   int // TaskExecutors
	Slots     int
	FreeSlots int
	Running   int // jobs
	Finished  int
	Canceled  int
	Failed    int
	Version   string // of its ApplicationMaster
}

// Overview tells what the cluster has and does.
func (c *ClusterClient) Overview(ctx context.Context) (Overview, error) {
	var answer restapi.ClusterOverview
	err := c.get(ctx, "/overview", &answer)
	return Overview{
		Workers: answer.TaskManagers, Slots: answer.SlotsTotal, FreeSlots: answer.SlotsAvailable, Running: answer.JobsRunning,
		Finished: answer.JobsFinished, Canceled: answer.JobsCancelled, Failed: answer.JobsFailed,
		Version: answer.Version,
	}, err
}
