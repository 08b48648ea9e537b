// Package prometheus runs a real Prometheus, Debian's, for tests.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Server is a running Prometheus.
type Server struct{ url string }

// Of starts a Prometheus that scrapes the ApplicationMaster of an access file every second, with the authority and the
// token to view as docs/monitoring.md has it, and the workers that the ApplicationMaster names. It evaluates the alert
// rules of a folder, docs/monitoring. The end of the test ends it.
func Of(t testing.TB, access launch.Access, monitoring string) *Server {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"authority.pem": access.Authority, "viewer": []byte(access.Viewer)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := filepath.Abs(filepath.Join(monitoring, rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	door := `
    scheme: https
    authorization: { type: Bearer, credentials_file: viewer }
    tls_config: { ca_file: authority.pem }`
	config := `
global: { scrape_interval: 1s, evaluation_interval: 1s, scrape_timeout: 1s } # an answer that takes longer is followed by the next one
rule_files: ["` + rules + `"]
scrape_configs:
  - job_name: bobbin` + door + `
    static_configs: [{ targets: ["` + access.Address + `"] }]
  - job_name: bobbin-workers` + door + `
    http_sd_configs:
      - url: https://` + access.Address + `/metrics/targets
        refresh_interval: 1s
        authorization: { type: Bearer, credentials_file: viewer }
        tls_config: { ca_file: authority.pem }
`
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := free(t)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "prometheus", "--config.file="+file, "--web.listen-address="+address, "--storage.tsdb.path="+filepath.Join(dir, "data"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Prometheus (Debian's package prometheus; scripts/prepare --all installs it): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if content, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("Prometheus:\n%s", content)
		}
	})
	return &Server{url: "http://" + address}
}

// free returns a port of this machine that nobody uses now.
func free(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Series is a series of an instant vector, with its value as text.
type Series struct {
	Labels map[string]string
	Value  string
}

// Query evaluates an expression now; see get for its errors.
func (s *Server) Query(ctx context.Context, expression string) ([]Series, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	if err := s.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &answer); err != nil {
		return nil, err
	}
	var all []Series
	for _, r := range answer.Data.Result {
		all = append(all, Series{r.Metric, fmt.Sprint(r.Value[len(r.Value)-1])})
	}
	return all, nil
}

// Await waits until an expression has this number of series, or at least one if it is 0, and returns them.
func (s *Server) Await(t testing.TB, expression string, series int) (found []Series) {
	t.Helper()
	wait.Satisfied(t, "Prometheus has "+expression, func() error {
		var err error
		if found, err = s.Query(t.Context(), expression); err == nil && len(found) != series && (series != 0 || len(found) == 0) {
			err = fmt.Errorf("it has %d series of it: %v", len(found), found)
		}
		return err
	})
	return found
}

// get decodes the answer of Prometheus' API. The error wraps wait.ErrGivenUp if Prometheus refuses what is asked, such as an
// expression that it cannot read. Other errors can pass: the server starts.
func (s *Server) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 4 {
		reason, err := io.ReadAll(answer.Body)
		return errors.Join(fmt.Errorf("%w: GET %s: %s: %s", wait.ErrGivenUp, path, answer.Status, reason), err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
