package run

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// supplying is a master with two slots; each new TaskExecutor has 1 GB and two more.
type supplying struct{ rest.Gateway }

func (supplying) SlotSupply(context.Context) (msg.SlotSupply, error) {
	return msg.SlotSupply{Total: 2, PerWorker: 2, WorkerMemoryMB: 1024}, nil
}

// TestASessionsJobThatCanHardlyFitIsToldSo would catch a job of hundreds of workers that waits on a small
// cluster without a warning, a warning of a job that has its slots, and one with this client's timeout in place
// of the session's.
func TestASessionsJobThatCanHardlyFitIsToldSo(t *testing.T) {
	cluster := clusterOfTwo(t)
	reached, err := client.NewClusterClient(resttest.Serve(t, supplying{}, rest.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reached.Close)
	for slots, says := range map[int]bool{2: false, 10_000: true} {
		var out bytes.Buffer
		job := session{site: &onYARN{cluster: cluster}, reached: reached, Request: Request{Journal: NewJournal(&out, time.Now(), false), limits: limitsOf(config.Config{})}}
		job.adviseOnSize(t.Context(), slots)
		if strings.HasPrefix(out.String(), "the job may not fit: its 10000 slots take 5000 TaskExecutors of 1024 MB") != says || !says && out.Len() > 0 {
			t.Errorf("%d slots: %q", slots, out.String())
		}
		if strings.Contains(out.String(), config.SlotRequestTimeout.Name()) {
			t.Errorf("%d slots: %q tells this command's %s, and the session's holds", slots, out.String(), config.SlotRequestTimeout)
		}
	}
}

// errNotTaken is the error of a cluster that refuses every job.
var errNotTaken = errors.New("nothing is taken")

type takesNothing struct{ cluster }

func (takesNothing) submit(context.Context, *jobgraph.JobGraph) (*running, error) {
	return nil, errNotTaken
}

// TestAnInputWithoutFilesIsWarnedOf would catch a job on the wrong directory that finishes at once, without a
// warning.
func TestAnInputWithoutFilesIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	r := runner{cluster: takesNothing{}, Journal: NewJournal(&out, time.Now(), false)}
	graph := jobgraph.JobGraph{Name: "words", Vertices: []jobgraph.Vertex{{Name: "read text", Source: true}}}
	if _, _, err := r.execute(t.Context(), nil, &graph); !errors.Is(err, errNotTaken) || !strings.HasPrefix(out.String(), "warning: job words reads nothing in read text: ") {
		t.Errorf("%v, printed %q", err, out.String())
	}
}
