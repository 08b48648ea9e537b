package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheMasterHasFewerThanAHundredLines(t *testing.T) {
	source, err := os.ReadFile("master.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 100 {
		t.Errorf("master.go has %d lines: the documentation promises fewer than 100", lines)
	}
}

// playground is a fake YARN. It calls a function for each copy of a job.
type playground struct {
	t    *testing.T
	job  Job
	copy func(number string, try int) records.ExitStatus
	fake *yarnfake.Fake

	mu    sync.Mutex // guards tries
	tries map[string]int
}

// runs runs the job and returns the application's last report.
func (p *playground) runs() records.ApplicationReport {
	p.t.Helper()
	started := make(chan struct{})
	fake, err := yarnfake.Start(yarnfake.Config{Nodes: 2, Heartbeat: 5 * time.Millisecond, MaxAttempts: 1, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		<-started
		return p.container(ctx, c)
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.fake = fake
	close(started)
	defer func() {
		if err := fake.Stop(); err != nil {
			p.t.Error(err)
		}
	}()
	o, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		p.t.Fatal(err)
	}
	yarn := yarnclient.New(o)
	defer yarn.Close()
	created, err := yarn.NewApplication(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	report, err := yarn.Submit(p.t.Context(), records.SubmissionContext{ID: created.ID, Resource: p.job.Size})
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for ; err == nil && !report.State.Terminal(); report, err = yarn.ApplicationReport(p.t.Context(), created.ID) {
		<-ticker.C
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return report
}

// container is the process in a container: the master, or a copy.
func (p *playground) container(ctx context.Context, c yarnfake.Container) records.ExitStatus {
	if c.Master {
		tokens := filepath.Join(p.t.TempDir(), "tokens")
		if err := c.Credentials.WriteFile(tokens, creds.Writable); err != nil {
			p.t.Error(err)
			return 1
		}
		environment := map[string]string{"CONTAINER_ID": c.ID.String(), "HADOOP_TOKEN_FILE_LOCATION": tokens, "NM_HOST": c.Node.Host}
		if err := lead(ctx, p.job, p.fake.Conf(), func(name string) string { return environment[name] }); err != nil {
			return 1
		}
		return records.ExitSuccess
	}
	if !strings.Contains(c.Launch.Commands[0], p.job.Command) {
		p.t.Errorf("a copy runs %q", c.Launch.Commands)
	}
	number := c.Launch.Environment["SHELL_COPY"]
	p.mu.Lock()
	p.tries[number]++
	try := p.tries[number]
	p.mu.Unlock()
	return p.copy(number, try)
}

func TestTheMaster(t *testing.T) {
	for name, test := range map[string]struct {
		copies, retries int
		copy            func(number string, try int) records.ExitStatus
		want            records.FinalApplicationStatus
		diagnostics     string
		tries           map[string]int
	}{
		"every copy runs once": {
			copies: 5, copy: func(string, int) records.ExitStatus { return 0 },
			want: records.FinalSucceeded, diagnostics: "all copies have run", tries: map[string]int{"0": 1, "1": 1, "2": 1, "3": 1, "4": 1},
		},
		"those that fail run again": {
			copies: 3, retries: 1, copy: func(number string, try int) records.ExitStatus {
				if number == "1" && try == 1 {
					return 7
				}
				return 0
			},
			want: records.FinalSucceeded, tries: map[string]int{"0": 1, "1": 2, "2": 1},
		},
		"one that fails too often fails the application": {
			copies: 1, retries: 1, copy: func(string, int) records.ExitStatus { return 7 },
			want: records.FinalFailed, diagnostics: "copy 0 has failed 2 times", tries: map[string]int{"0": 2},
		},
		"what YARN takes away is no failure": {
			copies: 1, retries: 0, copy: func(_ string, try int) records.ExitStatus {
				if try == 1 {
					return records.ExitPreempted
				}
				return 0
			},
			want: records.FinalSucceeded, tries: map[string]int{"0": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := Job{Command: "a command", Copies: test.copies, Retries: test.retries, Size: records.Resource{MemoryMB: 128, VCores: 1}}
			p := &playground{t: t, job: job, copy: test.copy, tries: map[string]int{}}
			report := p.runs()
			if report.FinalStatus != test.want || !strings.Contains(report.Diagnostics, test.diagnostics) {
				t.Errorf("it ended as %s: %s, want %s: %s", report.FinalStatus, report.Diagnostics, test.want, test.diagnostics)
			}
			if diff := cmp.Diff(test.tries, p.tries); diff != "" {
				t.Errorf("tries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMasterThatYARNHasNotStartedSaysSo(t *testing.T) {
	fake, err := yarnfake.Start(yarnfake.Config{InMemory: true, Run: func(context.Context, yarnfake.Container) records.ExitStatus { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Stop()
	if err := lead(t.Context(), Job{}, fake.Conf(), func(string) string { return "" }); err == nil || !strings.Contains(fmt.Sprint(err), "CONTAINER_ID") {
		t.Errorf("error %v, want one that names CONTAINER_ID", err)
	}
}
