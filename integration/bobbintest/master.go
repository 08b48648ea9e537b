package bobbintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// Master is the ApplicationMaster of a running application, as its owner reaches
// it: by REST over TLS, with what lies in the staging directory.
type Master struct {
	Access launch.Access
	http   *http.Client
}

const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 64 << 20 // bytes
)

// Master waits until the application runs, and reaches its master.
func (u *User) Master(t testing.TB, application string) *Master {
	t.Helper()
	Eventually(t, application+" runs", func() (bool, error) {
		app := u.App(t, application)
		if Ended(app) {
			return false, fmt.Errorf("it has ended: %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
		}
		return app.State == "RUNNING", nil
	})
	access, err := u.access(t.Context(), u.Files(t), application)
	if err != nil {
		t.Fatal(err)
	}
	tls, err := pki.RESTClientTLS(access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	m := &Master{Access: access}
	m.http = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: tls}}
	t.Cleanup(m.http.CloseIdleConnections)
	return m
}

// access reads what the ApplicationMaster has staged for its owner.
func (u *User) access(ctx context.Context, files *dfs.FS, application string) (access launch.Access, err error) {
	uri := "/user/" + u.Name + "/" + staging.DirName + "/" + application + "/" + launch.AccessFile
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

// Patch sends a PATCH, which cancels the job of "/jobs/<id>".
func (m *Master) Patch(ctx context.Context, path string) error {
	return ask(ctx, m.http, http.MethodPatch, "https://"+m.Access.Address+path, m.Access.Token, nil)
}

// View decodes the answer of an application's master to a GET that goes through
// YARN's web proxy, as a browser's does.
func (u *User) View(ctx context.Context, application, path string, v any) error {
	web := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	return ask(ctx, web, http.MethodGet, "http://"+u.Cluster.RMWebAddress()+"/proxy/"+application+"/"+strings.TrimPrefix(path, "/"), "", v)
}

// ask sends a request and decodes the JSON of its answer, which must be a
// success, unless v is nil.
func ask(ctx context.Context, web *http.Client, method, url, token string, v any) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.500s", method, url, response.Status, text)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// contextOf is the test's context, for clean-up: without its end.
func contextOf(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }
