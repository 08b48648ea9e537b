package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// survivor is a system whose jobs outlive an ApplicationMaster.
type survivor interface {
	contender
	// linger starts the job in a session, and returns when it is submitted.
	linger(session string) []string
	// entry is the name and an argument of the ApplicationMaster's process.
	entry() (name, argument string)
	// look asks the ApplicationMaster with this attempt's number for its workers, and for the running tasks of its only
	// job. Until it can answer, the error is errNotYet.
	look(ctx context.Context, session records.ApplicationID, attempt int32) (workers, running int, err error)
}

var errNotYet = errors.New("the attempt does not answer yet")

// hours writes a text with a file for each task. A task that waits at each line reads its file for an hour.
func (r *rig) hours(ctx context.Context) (string, error) {
	home, err := r.client.Files.Home()
	if err != nil {
		return "", err
	}
	dir := home + "/hours"
	if err := r.client.Files.MkdirMode(ctx, dir, 0o755); err != nil {
		return "", err
	}
	for i := range lingering {
		if err := r.client.Files.WriteFile(ctx, fmt.Sprintf("%s/%d", dir, i), []byte(strings.Repeat("to be\n", 20_000)), 0o644); err != nil {
			return "", fmt.Errorf("write a text of an hour: %w", err)
		}
	}
	return dir, nil
}

// lingeringBobbin is Bobbin with a program that waits at each line.
type lingeringBobbin struct{ bobbin }

func (b *lingeringBobbin) session() []string {
	return append(b.bobbin.session(), "-s", "1", "-jm", "512m", "-tm", "512m")
}

func (b *lingeringBobbin) linger(session string) []string {
	return []string{
		b.program("bobbin"), "run", "-d", "-t", "yarn-session", "-id", session, "-p", fmt.Sprint(lingering),
		b.program("dawdle"), filepath.Join(b.scratch, "gate"), b.input + "-lingering", b.input,
	}
}

func (b *lingeringBobbin) entry() (name, argument string) { return "bobbin", "appmaster" }

func (b *lingeringBobbin) look(ctx context.Context, session records.ApplicationID, attempt int32) (workers, running int, err error) {
	master, err := b.client.Reach(ctx, session)
	if errors.Is(err, client.ErrReplacing) || errors.Is(err, client.ErrNotRunning) {
		return 0, 0, errNotYet
	}
	if err != nil {
		return 0, 0, err
	}
	defer master.Close()
	if master.Attempt != attempt {
		return 0, 0, errNotYet
	}
	overview, err := master.Overview(ctx)
	if err != nil {
		return 0, 0, unanswered(ctx, err)
	}
	jobs, err := master.Jobs(ctx)
	if err != nil || len(jobs) != 1 {
		return overview.Workers, 0, unanswered(ctx, err)
	}
	return overview.Workers, jobs[0].Running, nil
}

// unanswered is errNotYet in place of an error of REST, because an attempt that starts answers some requests later
// than others.
func unanswered(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return errNotYet
	}
	return err
}

// lingeringFlink is Flink with a job that waits at each record.
type lingeringFlink struct{ *flink }

func (f lingeringFlink) linger(session string) []string {
	return f.command(flinkCommand, "run", "-d", "-t", "yarn-session", "-Dyarn.application.id="+session, "-p", fmt.Sprint(lingering), "-c", "Linger", f.jar)
}

func (f lingeringFlink) entry() (name, argument string) {
	return "java", "org.apache.flink.yarn.entrypoint.YarnSessionClusterEntrypoint"
}

func (f lingeringFlink) look(ctx context.Context, session records.ApplicationID, attempt int32) (workers, running int, err error) {
	report, err := f.rig.client.YARN.ApplicationReport(ctx, session)
	if err != nil {
		return 0, 0, err
	}
	if report.State != records.ApplicationRunning || report.Attempt.Attempt != attempt || report.RPCPort <= 0 {
		return 0, 0, errNotYet
	}
	rest := fmt.Sprintf("http://%s:%d", report.Host, report.RPCPort)
	var overview struct{ TaskManagers int }
	if err := getJSON(ctx, rest+"/overview", &overview); err != nil {
		return 0, 0, unanswered(ctx, err)
	}
	var jobs struct {
		Jobs []struct{ Tasks struct{ Running int } }
	}
	if err := getJSON(ctx, rest+"/jobs/overview", &jobs); err != nil || len(jobs.Jobs) != 1 {
		return overview.TaskManagers, 0, unanswered(ctx, err)
	}
	return overview.TaskManagers, jobs.Jobs[0].Tasks.Running, nil
}

// getJSON decodes the answer to a GET.
func getJSON(ctx context.Context, url string, v any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(v)
}
