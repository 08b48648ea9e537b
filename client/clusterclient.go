package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// requestTimeout bounds one request to the ApplicationMaster with its answer, unless ClusterClient.Patience does.
// Long polls answer well before it.
const requestTimeout = 60 * time.Second

// continueTime is how long a server may take to say whether it wants a large body. The server first waits for
// other clients that upload the same body. It answers before continueTime is over; see rest's uploadTime.
const continueTime = 6 * time.Minute

// maxAnswer bounds one answer, in bytes.
const maxAnswer = 64 << 20

// StatusError is an answer of the ApplicationMaster other than success.
type StatusError struct {
	Path   string
	Status int // HTTP status
	Errors []string
	// Leaving says that this ApplicationMaster accepts nothing any more. There may be another one.
	Leaving bool
}

func (e *StatusError) Error() string {
	text := http.StatusText(e.Status)
	if len(e.Errors) > 0 {
		text = e.Errors[0]
	}
	return fmt.Sprintf("ask ApplicationMaster about %s: %s (%d)", subject(e.Path), text, e.Status)
}

// subject says in words what a path is about.
func subject(path string) string {
	path, _, _ = strings.Cut(path, "?")
	_, id, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	id, _, _ = strings.Cut(id, "/")
	switch {
	case path == "/jobs/overview":
		return "its jobs"
	case strings.HasPrefix(path, "/jobs/"):
		return "job " + id
	case strings.HasPrefix(path, "/jobs"):
		return "a job"
	case strings.HasPrefix(path, "/drivers/"):
		return "program " + id
	case strings.HasPrefix(path, "/programs"):
		return "a program"
	case strings.HasPrefix(path, "/files"):
		return "a cached file"
	}
	return "itself"
}

// unanswered says why there is no answer. It hides the path in the text of a *url.Error.
type unanswered struct{ why *url.Error }

func (e unanswered) Error() string { return e.why.Err.Error() }
func (e unanswered) Unwrap() error { return e.why }

// ClusterClient speaks to the REST endpoint of an ApplicationMaster, as the
// application's owner or as another user (Cluster.Reach). It may be used from any
// goroutine.
type ClusterClient struct {
	// Attempt is the number of its ApplicationMaster; 0 if it is not known.
	Attempt int32
	// Patience bounds one request with its answer, except the upload of a program; 0: 60 s. It is set before the first request.
	Patience time.Duration

	base  string
	token string // the owner's; "" if the connection proves the user's identity
	http  *http.Client
}

// NewClusterClient makes a client from what the ApplicationMaster has staged.
// Close ends its connections.
func NewClusterClient(access launch.Access) (*ClusterClient, error) {
	base, err := baseURL(access.Address)
	if err != nil {
		return nil, err
	}
	tls, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		return nil, fmt.Errorf("reach ApplicationMaster at %s: %w", access.Address, err)
	}
	c := newClusterClient(base, &http.Transport{TLSClientConfig: tls})
	c.token, c.Attempt = access.Token, access.Attempt
	return c, nil
}

func newClusterClient(base string, transport *http.Transport) *ClusterClient {
	transport.MaxIdleConnsPerHost = 2
	transport.ExpectContinueTimeout = continueTime
	return &ClusterClient{base: base, http: &http.Client{
		Transport: transport,
		// An ApplicationMaster of another user could redirect this machine to any server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// baseURL is the URL of an address, to which paths are appended. Only the server at this address gets the
// proofs of identity.
func baseURL(address string) (string, error) {
	base, err := url.Parse("https://" + address)
	if err == nil {
		_, err = records.ParseNodeID(address)
	}
	if err != nil || base.Host != address {
		return "", fmt.Errorf("reach ApplicationMaster: its address %q is no host:port", address)
	}
	return base.String(), nil
}

// Close ends idle connections.
func (c *ClusterClient) Close() { c.http.CloseIdleConnections() }

// JobState is the progress of a job.
type JobState struct {
	Status   msg.JobStatus
	Progress progress.Job // without Input, which the JobGraph tells
	// Entered is when the job entered each of its states last, by the
	// ApplicationMaster's clock.
	Entered map[msg.JobStatus]time.Time
	// Waits says that some tasks are not deployed yet, and that all others have ended.
	Waits bool
	// Note says how the job runs, as in JobOverview.
	Note string
	// Left says what the job waits for if all of its tasks that are left wait for others: "all that is left waits for “read”"; or "".
	Left string
}

// Job fetches the progress of a job.
func (c *ClusterClient) Job(ctx context.Context, id ids.JobID) (JobState, error) {
	var answer restapi.JobDetailsInfo
	if err := c.get(ctx, jobPath(id), &answer); err != nil {
		return JobState{}, err
	}
	state := JobState{Status: answer.State, Entered: make(map[msg.JobStatus]time.Time), Note: answer.Note, Left: answer.Left}
	for status, at := range answer.Timestamps {
		if at > 0 {
			state.Entered[status] = time.UnixMilli(at)
		}
	}
	fed := make(map[string]bool) // vertices that read from others
	for _, node := range answer.Plan.Nodes {
		fed[node.ID] = len(node.Inputs) > 0
	}
	waiting, busy := 0, 0 // tasks
	for _, v := range answer.Vertices {
		for execution, tasks := range v.Tasks {
			switch {
			case execution == msg.ExecutionCreated || execution == msg.ExecutionScheduled:
				waiting += tasks
			case !execution.Final():
				busy += tasks
			}
		}
		state.Progress.Tasks += v.Parallelism
		state.Progress.Finished += v.Tasks[msg.ExecutionFinished]
		if !fed[v.ID] {
			state.Progress.Read += v.Metrics.ReadBytes
		}
	}
	state.Waits = waiting > 0 && busy == 0
	return state, nil
}

// Blocklist lists the nodes that jobs have set aside, by name. It is empty from an ApplicationMaster of an
// earlier release.
func (c *ClusterClient) Blocklist(ctx context.Context) ([]msg.BlockedNode, error) {
	var answer restapi.Blocklist
	err := c.get(ctx, "/blocklist", &answer)
	if NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	nodes := make([]msg.BlockedNode, len(answer.Nodes))
	for i, n := range answer.Nodes {
		nodes[i] = msg.BlockedNode{Node: n.Node, Cause: n.Cause, Until: time.UnixMilli(n.Until)}
	}
	return nodes, nil
}

// RootCause tells in one line why a job last failed or restarted; "" if it did neither.
func (c *ClusterClient) RootCause(ctx context.Context, id ids.JobID) (string, error) {
	var answer restapi.JobExceptions
	err := c.get(ctx, jobPath(id)+"/exceptions", &answer)
	if err != nil || answer.RootException == nil {
		return "", err
	}
	cause := *answer.RootException
	if end := strings.IndexAny(cause, "\r\n"); end >= 0 {
		cause = cause[:end]
	}
	return cause, nil
}

// SlotSupply lists the slots of the cluster, the expected slots, and those that jobs need.
func (c *ClusterClient) SlotSupply(ctx context.Context) (msg.SlotSupply, error) {
	var answer restapi.Slots
	err := c.get(ctx, "/slots", &answer)
	return answer.Supply(), err
}

// waitTime is how long one request waits for its answer to change.
const waitTime = "10s"

// Result fetches how a job ended. It waits some seconds for the end; the status may still be that of a running
// job. The ApplicationMaster of a per-job cluster ends once a client has fetched the end of its job.
func (c *ClusterClient) Result(ctx context.Context, id ids.JobID) (msg.JobEnded, error) {
	var answer restapi.Result
	err := c.get(ctx, jobPath(id)+"/result?wait="+waitTime, &answer)
	return answer.JobEnded(), err
}

// CollectPage fetches a page of a collected result. It waits some seconds for the first record, and the page
// may then be empty.
func (c *ClusterClient) CollectPage(ctx context.Context, id ids.JobID, name string, cursor int64) (page msg.CollectPage, err error) {
	path := jobPath(id) + "/collect/" + url.PathEscape(name) + "?wait=" + waitTime + "&cursor=" + strconv.FormatInt(cursor, 10)
	err = c.ask(ctx, http.MethodGet, path, nil, func(response *http.Response) error {
		page, err = restapi.ReadPage(response)
		return err
	})
	return page, err
}

func jobPath(id ids.JobID) string { return "/jobs/" + url.PathEscape(string(id)) }

// get fetches and decodes a JSON answer.
func (c *ClusterClient) get(ctx context.Context, path string, answer any) error {
	return c.ask(ctx, http.MethodGet, path, nil, decode(path, answer)) //nolint:bodyclose // ask closes it
}

// send sends a value as JSON; nil sends nothing. The answer has no content.
func (c *ClusterClient) send(ctx context.Context, method, path string, value any) error {
	var body []byte
	if value != nil {
		var err error
		if body, err = json.Marshal(value); err != nil {
			return fmt.Errorf("ask ApplicationMaster about %s: %w", subject(path), err)
		}
	}
	return c.ask(ctx, method, path, body, nil)
}

// errAnswer says that the answer is not from an ApplicationMaster of this release, or answers another request.
var errAnswer = errors.New("unexpected answer")

// decode reads a JSON answer. If the answer cannot be decoded, the error is errAnswer.
func decode(path string, answer any) func(*http.Response) error {
	return func(response *http.Response) error {
		err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(answer)
		if err != nil {
			err = fmt.Errorf("ask ApplicationMaster about %s: %w", subject(path), oddity(err))
		}
		return err
	}
}

// oddity explains why an answer cannot be decoded. The text says what the answer is, and names no types of Go.
func oddity(err error) error {
	odd, is := errors.AsType[*json.UnmarshalTypeError](err)
	switch _, syntax := errors.AsType[*json.SyntaxError](err); {
	case is && odd.Field != "":
		return fmt.Errorf("%w: its field %q is a JSON %s", errAnswer, odd.Field, odd.Value)
	case is:
		return fmt.Errorf("%w: it is a JSON %s", errAnswer, odd.Value)
	case syntax:
		return fmt.Errorf("%w: it is no JSON: %w", errAnswer, err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it is empty", errAnswer)
	}
	return err // an error of the connection
}

// ask makes a request within the client's Patience, see do.
func (c *ClusterClient) ask(ctx context.Context, method, path string, body []byte, take func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Patience, requestTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask ApplicationMaster about %s: %w", subject(path), err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.do(request, path, take)
}

// do makes a request. take reads an answer of status 200. If take is nil, do reads no content, and 202
// (accepted) is a success, too. Any other answer is a *StatusError.
func (c *ClusterClient) do(request *http.Request, path string, take func(*http.Response) error) (err error) {
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if failed, is := errors.AsType[*url.Error](err); is {
		err = unanswered{failed}
	}
	if err != nil {
		return fmt.Errorf("ask ApplicationMaster at %s about %s: %w", request.URL.Host, subject(path), err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	switch done := response.StatusCode == http.StatusOK; {
	case take == nil && (done || response.StatusCode == http.StatusAccepted):
		return nil
	case take != nil && done:
		return take(response)
	}
	var refusal restapi.FailureBody
	_ = json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&refusal) // the status alone says enough
	return &StatusError{Path: path, Status: response.StatusCode, Errors: refusal.Errors, Leaving: response.Header.Get(restapi.HeaderLeaving) != ""}
}

// Unreachable tells whether an error says that the ApplicationMaster did not answer, broke off its answer, or
// cannot answer now.
func Unreachable(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status == http.StatusServiceUnavailable
	}
	return Gone(err)
}

// Answered tells whether an error is the answer of an ApplicationMaster, which can be reached from here.
func Answered(err error) bool {
	_, status := errors.AsType[*StatusError](err)
	return status || errors.Is(err, clienttoam.ErrNoKey)
}

// NotFound tells whether an error says that the cluster does not know the object of the request.
func NotFound(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && status.Status == http.StatusNotFound
}

// Gone tells whether an error says that the client may have to ask another ApplicationMaster: this one did not
// answer, broke off its answer, or is about to end. A temporary refusal is not Gone.
func Gone(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Leaving
	}
	if errors.Is(err, clienttoam.ErrRefused) || errors.Is(err, errKeyless) {
		return false
	}
	_, network := errors.AsType[net.Error](err) // each error of http.Client is a net.Error
	return network || errors.Is(err, io.ErrUnexpectedEOF)
}
