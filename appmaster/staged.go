package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// staged is the content of the file that the client has staged.
type staged struct {
	launch.Staged                   // without the encoded graph of Job
	graph         jobgraph.JobGraph // of Job; empty if there is no job
	tooLarge      string            // why a job was not read, or ""; another attempt would fail in the same way
}

// readStaged reads the staged file if it has at most shares.Staged bytes. A job that is too large is
// no error, because the cluster must tell YARN before it ends.
func readStaged(ctx context.Context, files FileSystem, l launch.AppMaster, shares budget.Shares) (staged, error) {
	var s staged
	uri := l.StagingDir + "/" + launch.StagedFile
	content, err := files.ReadFile(ctx, uri, shares.Staged)
	if err == nil {
		s, err = decodeStaged(content, l.Mode)
	}
	if l.Mode == launch.PerJob && errors.Is(err, filesystem.ErrTooLarge) {
		if info, unknown := files.Stat(ctx, uri); unknown == nil {
			return staged{tooLarge: fmt.Sprintf("%v: its staged file %s has %.1f MiB, and the ApplicationMaster has memory for %.1f MiB: raise %s, or divide the job",
				msg.ErrJobTooLarge, uri, float64(info.Size)/(1<<20), float64(shares.Staged)/(1<<20), shares.By)}, nil
		}
	}
	if err != nil {
		return s, fmt.Errorf("read staged file %s: %w", uri, err)
	}
	return s, nil
}

// errNoJob says that the cluster is for one job, and no job is staged.
var errNoJob = errors.New("it has no job")

// decodeStaged reads the content of launch.StagedFile.
func decodeStaged(content []byte, mode launch.Mode) (s staged, err error) {
	err = json.Unmarshal(content, &s.Staged)
	switch {
	case err != nil:
	case s.Job != nil:
		err = json.Unmarshal(s.Job.Graph, &s.graph)
		s.Job.Graph = nil // budget does not count it
	case mode == launch.PerJob:
		err = errNoJob
	}
	return s, err
}

// nodeReports returns the nodes as the worker provider expects them.
func (s staged) nodeReports() []records.NodeReport {
	reports := make([]records.NodeReport, len(s.Nodes))
	for i, node := range s.Nodes {
		reports[i] = records.NodeReport{
			ID: records.NodeID{Host: node.Host, Port: node.Port}, Rack: node.Rack, State: records.NodeRunning,
			Capability: records.Resource{MemoryMB: node.MemoryMB, VCores: node.VCores, Others: records.NewResourceValues(node.Others)},
			Labels:     node.Labels,
		}
	}
	return reports
}

// hardlyFits returns a warning if the running nodes have too little memory for a job, and otherwise "". The
// client could not check this: it submitted a program and did not know its jobs.
func (s staged) hardlyFits(c config.Config, graph *jobgraph.JobGraph) string {
	if len(s.Nodes) == 0 { // the client did not send the nodes
		return ""
	}
	var have int64
	for _, node := range s.Nodes {
		have += node.MemoryMB
	}
	worker, small := memory.WorkerOf(c)
	master, other := memory.MasterOf(c, launch.Application.Programs())
	external, _, unknown := launch.ExternalResources(c)
	if errors.Join(small, other, unknown) != nil { // New has refused such options
		return ""
	}
	one := launch.WorkerSize{Memory: worker, VCores: config.WorkerVCores(c), External: external}
	return launch.DemandOf(launch.WorkersOf(c, one, graph), master, c.Duration(config.SlotRequestTimeout)).TooLarge(have)
}
