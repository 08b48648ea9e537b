package appmaster

import (
	"context"
	"errors"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestOnlyTheStoreSaysThatALaterMasterLeads would catch a session that ends because somebody has made a directory in the
// output of one of its jobs, and a master that does not end although another one leads.
func TestOnlyTheStoreSaysThatALaterMasterLeads(t *testing.T) {
	t.Parallel()
	for name, leads := range map[string]error{"it leads": nil, "it does not lead": ha.ErrSuperseded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logger, _ := logtest.NewNullLogger()
			o := newOutputs(ComponentConfig{
				Epoch: 2, Config: roomy(t, nil), Mode: dispatcher.Session,
				Files:   dataflowtest.NewFiles(map[string]string{"/out/_temporary/" + string(testJob) + "/e7/1/part-00000": "x"}),
				Confirm: func(context.Context) error { return leads },
			}, logger)
			err := o.open(t.Context(), testJob, &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Outputs: []string{"mem:///out"}}}}, false)
			if !errors.Is(err, dataflow.ErrFenced) || errors.Is(err, ha.ErrSuperseded) != (leads != nil) {
				t.Errorf("open the output: %v", err)
			}
			if leads == nil && !strings.Contains(err.Error(), "remove mem:///out/_temporary/"+string(testJob)) {
				t.Errorf("the error names no remedy: %v", err)
			}
		})
	}
}

// storedLate is a Store that refuses the first result.
type storedLate struct {
	ha.Store
	asked int
}

func (s *storedLate) AddResult(context.Context, ids.JobID, msg.JobStatus, []byte) error {
	if s.asked++; s.asked == 1 {
		return errors.New("quota exceeded")
	}
	return nil
}

// TestUnfinishedOutputStaysUntilTheEndIsStored would catch a master that removes parts whose commit is recorded, and ends
// before the end of their job is stored. The next master could not commit them.
func TestUnfinishedOutputStaysUntilTheEndIsStored(t *testing.T) {
	t.Parallel()
	const ours = "/out/" + ourPart
	files := dataflowtest.NewFiles(map[string]string{ours: "x"})
	logger, _ := logtest.NewNullLogger()
	o := newOutputs(ComponentConfig{Epoch: 1, Config: roomy(t, nil), Mode: dispatcher.Session, Files: files}, logger)
	o.begin(testJob, &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Outputs: []string{"mem:///out"}}}})
	store := clearing{&storedLate{}, o}
	for _, stays := range []bool{true, false} {
		err := store.AddResult(t.Context(), testJob, msg.JobFailed, nil)
		if _, left := files.Files()[ours]; left != stays || (err == nil) == stays {
			t.Errorf("the answer is %v, and left are %q", err, files.Files())
		}
	}
}
