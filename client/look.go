package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Details is what the ApplicationMaster tells of a job, with its vertices and its plan.
func (c *ClusterClient) Details(ctx context.Context, id ids.JobID) (restapi.JobDetailsInfo, error) {
	var answer restapi.JobDetailsInfo
	err := c.get(ctx, jobPath(id), &answer)
	return answer, err
}

// Activity is what the tasks of a job do now, by vertex. It is empty from an ApplicationMaster of an earlier release.
func (c *ClusterClient) Activity(ctx context.Context, id ids.JobID) (restapi.JobVertices, error) {
	var answer restapi.JobVertices
	err := c.get(ctx, jobPath(id)+"/vertices", &answer)
	if NotFound(err) {
		return restapi.JobVertices{}, nil
	}
	return answer, err
}

// Vertex has the subtasks of a vertex, and in BackPressure what those that run do.
func (c *ClusterClient) Vertex(ctx context.Context, job ids.JobID, vertex string) (restapi.JobVertexDetails, error) {
	var answer restapi.JobVertexDetails
	err := c.get(ctx, jobPath(job)+"/vertices/"+url.PathEscape(vertex)+"?backpressure=true", &answer)
	return answer, err
}

// Worker is a registered TaskExecutor.
type Worker struct {
	ID, Node         string
	Slots, FreeSlots int
	Memory           int64         // bytes of its container
	Silent           time.Duration // since its last heartbeat, to the second
}

// Workers lists the registered TaskExecutors. The answer has the times of their heartbeats by the ApplicationMaster's clock,
// which may differ from this machine's: its header Date says what that clock shows.
func (c *ClusterClient) Workers(ctx context.Context) ([]Worker, error) {
	const path = "/taskmanagers"
	var answer restapi.TaskManagersInfo
	now, read := time.Now(), decode(path, &answer) //nolint:bodyclose // ask closes it
	err := c.ask(ctx, http.MethodGet, path, nil, func(response *http.Response) error {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			now = date
		}
		return read(response)
	})
	if err != nil {
		return nil, err
	}
	workers := make([]Worker, len(answer.TaskManagers))
	for i, w := range answer.TaskManagers {
		workers[i] = Worker{w.ID, w.Path, w.Slots, w.FreeSlots, w.Memory.TotalProcessMemory, max(0, now.Sub(time.UnixMilli(w.LastHeartbeat)))}
	}
	return workers, nil
}

// Load is what the process of a TaskExecutor uses, without its task hosts.
type Load struct {
	Memory int64   // bytes in RAM
	CPU    float64 // share of the machine's cores, 0 to 1
	Known  bool    // the worker has reported it
}

// Metrics of Load.
const (
	metricResident = "Status.Process.Memory.Resident"
	metricCPU      = "Status.Go.CPU.Load"
)

// Load asks what a TaskExecutor uses.
func (c *ClusterClient) Load(ctx context.Context, worker string) (load Load, err error) {
	var answer []restapi.Metric
	names := strings.Join([]string{metricResident, metricCPU}, ",")
	err = c.get(ctx, "/taskmanagers/"+url.PathEscape(worker)+"/metrics?get="+names, &answer)
	for _, m := range answer {
		value, odd := strconv.ParseFloat(m.Value, 64)
		switch {
		case odd != nil: // NaN is a number; anything else is not known
		case m.ID == metricResident:
			load.Memory, load.Known = int64(value), true
		case m.ID == metricCPU:
			load.CPU = value
		}
	}
	return load, err
}

// Waiting says in words why a job waits, and since when; "" if it does not wait. Its times are those of this machine's zone.
func (c *ClusterClient) Waiting(ctx context.Context, id ids.JobID) (words string, since time.Time, err error) {
	var answer restapi.JobWaiting
	err = c.get(ctx, jobPath(id)+"/waiting", &answer)
	switch {
	case NotFound(err): // an ApplicationMaster of an earlier release, or it has forgotten the job
		return c.waitingBySlots(ctx, id)
	case err != nil || !answer.Waiting:
		return "", time.Time{}, err
	}
	return localTimes(answer.Words, time.Now()), time.UnixMilli(answer.Since), nil
}

// waitingBySlots is Waiting for an ApplicationMaster that only tells the slots.
func (c *ClusterClient) waitingBySlots(ctx context.Context, id ids.JobID) (words string, since time.Time, err error) {
	supply, err := c.SlotSupply(ctx)
	if demand, known := supply.Of(id); err == nil && known && demand.Waits() {
		return "waits for slots: " + supply.Explain(demand, progress.TimeOfDay), demand.Since, nil
	}
	if NotFound(err) {
		err = nil
	}
	return "", time.Time{}, err
}
