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
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Uploads names what can be uploaded to a session.
type Uploads string

// What can be uploaded.
const (
	Programs Uploads = "/programs"
	Files    Uploads = "/files" // cached files of jobs
)

// Upload is a program or a cached file for jobs to be submitted.
type Upload struct {
	Path   string // on this machine
	Name   string
	SHA256 string // lower-case hex
	Size   int64  // bytes
}

// Has tells whether the cluster has a program or a file already, in the cache of its owner's staging area.
func (c *ClusterClient) Has(ctx context.Context, what Uploads, sha256 string) (bool, error) {
	err := c.send(ctx, http.MethodGet, string(what)+"/"+url.PathEscape(sha256), nil)
	if NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// errStalled says that an ApplicationMaster accepts no more data of an upload.
var errStalled = fmt.Errorf("the ApplicationMaster has accepted no data for %v", requestTimeout)

// Upload uploads a program or a file for jobs to be submitted. It has no time limit as long as the
// ApplicationMaster accepts data. progress is called with the number of bytes sent.
func (c *ClusterClient) Upload(ctx context.Context, what Uploads, u Upload, progress func(done int64)) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errStalled) {
			err = fmt.Errorf("upload %s: %w", u.Path, errStalled)
		}
	}()
	file, err := os.Open(u.Path)
	if err != nil {
		return fmt.Errorf("upload %s: %w", u.Path, err)
	}
	defer file.Close() // read only: nothing to lose
	body := &sent{file: file, progress: progress, stalled: time.AfterFunc(continueTime+requestTimeout, func() { cancel(errStalled) })}
	defer body.end()
	query := url.Values{"name": {u.Name}, "sha256": {u.SHA256}}
	path := string(what) + "?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, body)
	if err != nil {
		return fmt.Errorf("upload %s: %w", u.Path, err)
	}
	request.ContentLength = u.Size
	request.Header.Set("Content-Type", "application/octet-stream")
	// A server that does not want the file says so before it is sent.
	request.Header.Set("Expect", "100-continue")
	return c.do(request, path, nil)
}

// sent counts how much of a file was read. The transport may read on after the answer.
type sent struct {
	file    *os.File
	stalled *time.Timer // ends the upload

	mu       sync.Mutex // guards what follows
	done     int64
	progress func(done int64) // nil after the answer
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

// submit submits a job with an id to a session that has its program: see Submission. If sent is false, the
// session does not know the job.
func (c *ClusterClient) submit(ctx context.Context, job restapi.JobSubmission) (sent bool, err error) {
	var wrote atomic.Bool // by a goroutine of the transport
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	err = c.send(ctx, http.MethodPost, "/jobs", job)
	return wrote.Load(), err
}

// Heartbeat says that a job's client lives. until is only for Flink's form of the request: the session uses its
// own clock.
func (c *ClusterClient) Heartbeat(ctx context.Context, id ids.JobID, until time.Time) error {
	return c.send(ctx, http.MethodPatch, jobPath(id)+"/clientHeartbeat", restapi.ClientHeartbeat{ExpiredTimestamp: until.UnixMilli()})
}

// Driver is a program that runs beside the ApplicationMaster of a session.
type Driver struct {
	ID       string // of this run
	Name     string // of the program
	Started  time.Time
	MemoryMB int // that its processes hold
	Jobs     int // that it has submitted
}

// Drivers lists the programs that run beside the ApplicationMaster. A cluster that is not a session has none.
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

// EndDriver ends a program that runs beside the ApplicationMaster, and waits for its end. The jobs of the
// program continue. NotFound is true of the error if there is no program with this id.
func (c *ClusterClient) EndDriver(ctx context.Context, id string) error {
	return c.send(ctx, http.MethodDelete, "/drivers/"+url.PathEscape(id), nil)
}

// Cancel starts to cancel a job. It is no error if the job is already CANCELLING or CANCELED. After a time-out the job may
// still be cancelled.
func (c *ClusterClient) Cancel(ctx context.Context, id ids.JobID) error {
	return c.order(ctx, http.MethodPatch, jobPath(id)+"?mode=cancel", "bobbin list")
}

// Stop ends a job with a savepoint. No ApplicationMaster supports that yet: its answer is an error.
func (c *ClusterClient) Stop(ctx context.Context, id ids.JobID) error {
	return c.send(ctx, http.MethodPost, jobPath(id)+"/stop", nil)
}

// ShutDown ends the cluster, with all its jobs. The ApplicationMaster ends some time after
// its answer, and after a time-out perhaps without one.
func (c *ClusterClient) ShutDown(ctx context.Context) error {
	return c.order(ctx, http.MethodDelete, "/cluster", "bobbin status")
}

// order sends what the ApplicationMaster stores on HDFS before it answers. While HDFS does not answer, it keeps the order
// for longer than this client waits: the error of a time-out then names the command that shows the effect.
func (c *ClusterClient) order(ctx context.Context, method, path, shows string) error {
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	err := c.send(ctx, method, path, nil)
	if wrote.Load() && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: it may still take effect; look with %s", err, shows)
	}
	return err
}

// Plan is the plan of a running or ended job.
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
	End    time.Time     // zero while it runs
	Lasts  time.Duration // by the ApplicationMaster's clock: for how long it has run, or did run
	Tasks  int           // of all vertices
	// Finished, Running and Created count the tasks in these states.
	Finished, Running, Created int
	// Note says how the job runs, if users would not expect it: "it runs in waves …". "": an ApplicationMaster of an earlier
	// release says nothing.
	Note string
}

// Jobs lists the running jobs of the cluster, and the ended ones that it still keeps, in no order.
func (c *ClusterClient) Jobs(ctx context.Context) ([]JobOverview, error) {
	var answer restapi.MultipleJobsDetails
	if err := c.get(ctx, "/jobs/overview", &answer); err != nil {
		return nil, err
	}
	jobs := make([]JobOverview, len(answer.Jobs))
	for i, j := range answer.Jobs {
		jobs[i] = JobOverview{
			ID: j.ID, Name: j.Name, Status: j.State, Start: time.UnixMilli(j.StartTime),
			Lasts: max(0, time.Duration(j.Duration)*time.Millisecond),
			Tasks: j.Tasks["total"], Finished: j.Tasks["finished"], Running: j.Tasks["running"], Created: j.Tasks["created"], Note: j.Note,
		}
		if j.EndTime >= 0 {
			jobs[i].End = time.UnixMilli(j.EndTime)
		}
	}
	return jobs, nil
}

// Overview counts a cluster's TaskExecutors, slots and jobs.
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

// Overview fetches the cluster's Overview.
func (c *ClusterClient) Overview(ctx context.Context) (Overview, error) {
	var answer restapi.ClusterOverview
	err := c.get(ctx, "/overview", &answer)
	return Overview{
		Workers: answer.TaskManagers, Slots: answer.SlotsTotal, FreeSlots: answer.SlotsAvailable, Running: answer.JobsRunning,
		Finished: answer.JobsFinished, Canceled: answer.JobsCancelled, Failed: answer.JobsFailed,
		Version: answer.Version,
	}, err
}
