package bobbintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// Master is the ApplicationMaster of a running application. The test reaches it like the owner, by
// REST over TLS with the files of the staging directory.
type Master struct {
	Access launch.Access
	http   *http.Client
}

const (
	requestTimeout = 5 * time.Minute // for a master that was lost without notice
	maxAnswer      = 64 << 20        // bytes
)

// Master waits until the application runs, and connects to its ApplicationMaster.
func (u *User) Master(t testing.TB, application string) *Master {
	t.Helper()
	if app := u.WaitBegun(t, application); Ended(app) {
		t.Fatalf("%s does not run, it has ended: %s (%s): %s", application, app.State, app.FinalStatus, app.Diagnostics)
	}
	files := u.Files(t)
	var access launch.Access
	wait.For(t, "the ApplicationMaster of "+application+" leads", func() (bool, error) { // YARN knows it before
		var err error
		access, err = u.access(t.Context(), files, application)
		if !errors.Is(err, ha.ErrReplacing) && !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
		if app := u.App(t, application); Ended(app) {
			return false, fmt.Errorf("it is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
		}
		return false, nil
	})
	tls, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	m := &Master{Access: access}
	m.http = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: tls}}
	t.Cleanup(m.http.CloseIdleConnections)
	return m
}

// access reads the file that the leader, or the ApplicationMaster of an application without high availability, has
// stored for its owner.
func (u *User) access(ctx context.Context, files *dfs.FS, application string) (access launch.Access, err error) {
	dir := u.StagingOf(application)
	live, err := ha.Find(ctx, files, dir)
	switch {
	case err == nil:
		dir = live.Dir
	case !errors.Is(err, ha.ErrNothing):
		return access, err
	}
	uri := dir + "/" + launch.AccessFile
	content, err := files.ReadFile(ctx, uri, 64<<10)
	if err != nil {
		return access, err
	}
	if err := json.Unmarshal(content, &access); err != nil {
		return access, fmt.Errorf("read %s: %w", uri, err)
	}
	return access, nil
}

// Get decodes the answer to a GET, such as "/jobs/overview", into v.
func (m *Master) Get(ctx context.Context, path string, v any) error {
	return ask(ctx, m.http, http.MethodGet, "https://"+m.Access.Address+path, m.Access.Token, v)
}

// Workers returns the ids of the registered workers. It fails the test if there is none.
func (m *Master) Workers(t testing.TB) (ids []string) {
	t.Helper()
	var answer struct{ TaskManagers []struct{ ID string } }
	if err := m.Get(t.Context(), "/taskmanagers", &answer); err != nil || len(answer.TaskManagers) == 0 {
		t.Fatalf("workers are %+v: %v", answer, err)
	}
	for _, w := range answer.TaskManagers {
		ids = append(ids, w.ID)
	}
	return ids
}

// Patch sends a PATCH, which cancels the job of "/jobs/<id>".
func (m *Master) Patch(ctx context.Context, path string) error {
	return ask(ctx, m.http, http.MethodPatch, "https://"+m.Access.Address+path, m.Access.Token, nil)
}

// Ask sends a request, and returns the answer with any status. header may be nil.
func (m *Master) Ask(ctx context.Context, method, path string, header http.Header, body io.Reader) (Answer, error) {
	header = header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	header.Set("Authorization", "Bearer "+m.Access.Token)
	return send(ctx, m.http, method, "https://"+m.Access.Address+path, header, body)
}

// AskByProxy sends a request without a body to an application's ApplicationMaster through YARN's
// web proxy, like a browser. It returns the answer with any status.
func (u *User) AskByProxy(ctx context.Context, method, application, path string) (Answer, error) {
	web := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	return send(ctx, web, method, u.proxied(application, path), nil, nil)
}

// proxied returns the address of an application's path at YARN's web proxy.
func (u *User) proxied(application, path string) string {
	return "http://" + u.Cluster.RMWebAddress() + "/proxy/" + application + "/" + strings.TrimPrefix(path, "/")
}

// View decodes the answer of an application's ApplicationMaster to a GET through YARN's web proxy,
// like a browser's.
func (u *User) View(ctx context.Context, application, path string, v any) error {
	web := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	return ask(ctx, web, http.MethodGet, u.proxied(application, path), "", v)
}

// ask sends a request and decodes the JSON of its answer into v, unless v is nil. The status must
// be a success.
func ask(ctx context.Context, web *http.Client, method, url, token string, v any) error {
	header := make(http.Header)
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	answer, err := send(ctx, web, method, url, header, nil)
	if err != nil {
		return err
	}
	if answer.Status/100 != 2 {
		return fmt.Errorf("%s: %w", method, &cluster.ErrHTTPStatus{URL: url, Status: answer.Status, Body: answer.Body})
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(answer.Body), v); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// send sends a request and reads its answer.
func send(ctx context.Context, web *http.Client, method, url string, header http.Header, body io.Reader) (answer Answer, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := web.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return Answer{Status: response.StatusCode, Type: response.Header.Get("Content-Type"), Body: string(text), Sent: header.Get("Authorization")}, nil
}
