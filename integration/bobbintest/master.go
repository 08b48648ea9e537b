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

	"github.com/bobbin-yarn/bobbin/client/staging"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
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
	uri := "/user/" + u.Name + "/" + staging.DirName + "/" + application + "/" + launch.AccessFile
	content, err := u.Files(t).ReadFile(t.Context(), uri, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	m := new(Master)
	if err := json.Unmarshal(content, &m.Access); err != nil {
		t.Fatalf("read %s: %v", uri, err)
	}
	tls, err := pki.RESTClientTLS(m.Access.Authority)
	if err != nil {
		t.Fatal(err)
	}
	m.http = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: tls}}
	t.Cleanup(m.http.CloseIdleConnections)
	return m
}

// Get decodes the answer to a GET, such as "/jobs/overview", into v.
func (m *Master) Get(ctx context.Context, path string, v any) error {
	return getJSON(ctx, m.http, "https://"+m.Access.Address+path, m.Access.Token, v)
}

// View decodes the answer of an application's master to a GET that goes through
// YARN's web proxy, as a browser's does.
func (u *User) View(ctx context.Context, application, path string, v any) error {
	web := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	return getJSON(ctx, web, "http://"+u.Cluster.RMWebAddress()+"/proxy/"+application+"/"+strings.TrimPrefix(path, "/"), "", v)
}

func getJSON(ctx context.Context, web *http.Client, url, token string, v any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
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
		return fmt.Errorf("get %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s: %.500s", url, response.Status, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	return nil
}

// contextOf is the test's context, for clean-up: without its end.
func contextOf(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }
