package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// TestStatusDoesWithoutYARN would catch a command that has asked the master all it wants to know, and fails as YARN is away.
func TestStatusDoesWithoutYARN(t *testing.T) {
	s := startFakeSession(t)
	s.yarn.Delay("getApplicationReport", 0) // how the master is reached
	s.yarn.Delay("getApplicationReport", time.Hour)
	code, stdout, stderr := command(t, s.env, "status", "-id", s.id.String(), "-D", "client.timeout=2s")
	if code != ExitOK || !strings.HasSuffix(stderr, "YARN does not answer: what it knows of the application is left out\n") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if !strings.HasPrefix(stdout, "application    "+s.id.String()+"\n") || !strings.Contains(stdout, "slots          2, 1 of them free\n") {
		t.Errorf("stdout %q", stdout)
	}
}

// TestASessionsJobThatCanHardlyFitIsToldSo would catch a job of hundreds of workers that waits on a small cluster without a
// word, and a word about one that has its slots.
func TestASessionsJobThatCanHardlyFitIsToldSo(t *testing.T) {
	s := startFakeSession(t)
	reached, err := client.NewClusterClient(s.access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reached.Close)
	for slots, says := range map[int]bool{2: false, 10_000: true} {
		var out bytes.Buffer
		job := session{site: &onYARN{cluster: s.opened(t), id: s.id}, reached: reached, say: progress.New(&out)}
		job.adviseOnSize(t.Context(), slots)
		if strings.HasPrefix(out.String(), "the job can hardly fit: its 10000 slots take 5000 TaskExecutors of 1024 MB") != says || !says && out.Len() > 0 {
			t.Errorf("%d slots: %q", slots, out.String())
		}
	}
}

// errNoTarget is that of a target that takes nothing.
var errNoTarget = errors.New("nothing is taken")

type noTarget struct{}

func (noTarget) submit(context.Context, *jobgraph.JobGraph) (*running, error) {
	return nil, errNoTarget
}

// TestAnInputWithoutFilesIsWarnedOf would catch a job on the wrong directory that finishes at once, without a word.
func TestAnInputWithoutFilesIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	r := runner{target: noTarget{}, say: progress.New(&out)}
	graph := jobgraph.JobGraph{Name: "words", Vertices: []jobgraph.Vertex{{Name: "read text", Source: true}}}
	if _, _, err := r.execute(t.Context(), nil, &graph); !errors.Is(err, errNoTarget) || !strings.HasPrefix(out.String(), "warning: job words reads nothing in read text: ") {
		t.Errorf("%v, printed %q", err, out.String())
	}
}
