package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// requestTimeout bounds one request to the ApplicationMaster; long polls answer
// well before.
const requestTimeout = 60 * time.Second

// maxAnswer bounds one answer, in bytes.
const maxAnswer = 64 << 20

// StatusError is an answer of the ApplicationMaster other than success.
type StatusError struct {
	Path   string
	Status int // HTTP's
	Errors []string
}

func (e *StatusError) Error() string {
	text := http.StatusText(e.Status)
	if len(e.Errors) > 0 {
		text = e.Errors[0]
	}
	return fmt.Sprintf("%s: %d %s", e.Path, e.Status, text)
}

// ClusterClient speaks to the REST endpoint of an ApplicationMaster, as the
// application's owner. It may be used from any goroutine.
type ClusterClient struct {
	base  string
	token string
	http  *http.Client
}

// NewClusterClient makes a client from what the ApplicationMaster has staged.
// Close ends its connections.
func NewClusterClient(access launch.Access) (*ClusterClient, error) {
	tls, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		return nil, fmt.Errorf("reach ApplicationMaster at %s: %w", access.Address, err)
	}
	return &ClusterClient{
		base: "https://" + access.Address, token: access.Token,
		http: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: tls, MaxIdleConnsPerHost: 2}},
	}, nil
}

// Close ends idle connections.
func (c *ClusterClient) Close() { c.http.CloseIdleConnections() }

// JobState is how far a job is.
type JobState struct {
	Status   msg.JobStatus
	Finished int // tasks
	Tasks    int
	Restarts int
}

// Job tells how far a job is.
func (c *ClusterClient) Job(ctx context.Context, id ids.JobID) (JobState, error) {
	var answer struct {
		State    msg.JobStatus `json:"state"`
		Restarts int           `json:"restarts"`
		Vertices []struct {
			Parallelism int                        `json:"parallelism"`
			Tasks       map[msg.ExecutionState]int `json:"tasks"`
		} `json:"vertices"`
	}
	if err := c.get(ctx, jobPath(id), &answer); err != nil {
		return JobState{}, err
	}
	state := JobState{Status: answer.State, Restarts: answer.Restarts}
	for _, v := range answer.Vertices {
		state.Tasks += v.Parallelism
		state.Finished += v.Tasks[msg.ExecutionFinished]
	}
	return state, nil
}

// Result is how a job ended, and when the steps of its start-up were done by the
// ApplicationMaster's clock.
type Result struct {
	msg.JobEnded
	Steps []RemoteStep
}

// RemoteStep is a step on another machine.
type RemoteStep struct {
	Name string
	At   time.Time
}

// Result fetches how a job ended. The ApplicationMaster of a per-job cluster
// ends once it has been fetched.
func (c *ClusterClient) Result(ctx context.Context, id ids.JobID) (Result, error) {
	var answer struct {
		Status   msg.JobStatus    `json:"status"`
		Duration int64            `json:"duration"` // ms
		Counters map[string]int64 `json:"counters"`
		Failure  *msg.Failure     `json:"failure"`
		Steps    []struct {
			Name string `json:"name"`
			At   int64  `json:"timestamp"` // ms since 1970
		} `json:"steps"`
	}
	if err := c.get(ctx, jobPath(id)+"/result", &answer); err != nil {
		return Result{}, err
	}
	result := Result{JobEnded: msg.JobEnded{
		Job: id, Status: answer.Status, Duration: time.Duration(answer.Duration) * time.Millisecond,
		Counters: answer.Counters, Failure: answer.Failure,
	}}
	for _, step := range answer.Steps {
		result.Steps = append(result.Steps, RemoteStep{step.Name, time.UnixMilli(step.At)})
	}
	return result, nil
}

// CollectPage fetches a page of a collected result, waiting for its first record
// for some seconds; the page may be empty then.
func (c *ClusterClient) CollectPage(ctx context.Context, id ids.JobID, name string, cursor int64) (msg.CollectPage, error) {
	var page msg.CollectPage
	path := jobPath(id) + "/collect/" + url.PathEscape(name) + "?cursor=" + strconv.FormatInt(cursor, 10)
	err := c.get(ctx, path, &page)
	return page, err
}

func jobPath(id ids.JobID) string { return "/jobs/" + url.PathEscape(string(id)) }

func (c *ClusterClient) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask ApplicationMaster for %s: %w", path, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask ApplicationMaster: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("ask ApplicationMaster for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		status := &StatusError{Path: path, Status: response.StatusCode}
		_ = json.Unmarshal(body, status) // the status alone says enough
		return status
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("ask ApplicationMaster for %s: %w", path, err)
	}
	return nil
}

// Unreachable tells whether an error says that the ApplicationMaster did not
// answer, or could not for now.
func Unreachable(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status == http.StatusServiceUnavailable
	}
	var transport *url.Error
	return errors.As(err, &transport)
}
