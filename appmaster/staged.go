package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// maxStaged bounds what the client has staged, in bytes: a job's splits are most of
// it.
const maxStaged = 256 << 20

// staged is what the client has staged.
type staged struct {
	launch.Staged                   // without the text of Job
	graph         jobgraph.JobGraph // of Job, where there is one
}

func readStaged(ctx context.Context, files *dfs.FS, l launch.AppMaster) (staged, error) {
	var s staged
	uri := l.StagingDir + "/" + launch.StagedFile
	content, err := files.ReadFile(ctx, uri, maxStaged)
	if err == nil {
		s, err = decodeStaged(content, l.Mode)
	}
	if err != nil {
		return s, fmt.Errorf("read staged file %s: %w", uri, err)
	}
	return s, nil
}

// errNoJob is a cluster for one job for which none was staged.
var errNoJob = errors.New("it has no job")

// decodeStaged reads the content of launch.StagedFile.
func decodeStaged(content []byte, mode launch.Mode) (s staged, err error) {
	err = json.Unmarshal(content, &s.Staged)
	switch {
	case err != nil:
	case s.Job != nil:
		err = json.Unmarshal(s.Job.Graph, &s.graph)
		s.Job.Graph = nil // up to maxStaged, which nobody counts while the cluster lives
	case mode == launch.PerJob:
		err = errNoJob
	}
	return s, err
}

// nodeReports gives the nodes as the driver takes them.
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

// hardlyFits says of a job that the nodes which run have too little memory for it, or "". The
// client has submitted a program, and did not know its jobs.
func (s staged) hardlyFits(c config.Config, graph *jobgraph.JobGraph) string {
	if len(s.Nodes) == 0 { // they are not known
		return ""
	}
	var have int64
	for _, node := range s.Nodes {
		have += node.MemoryMB
	}
	return launch.DemandOf(c, graph.Slots()).TooLarge(have)
}
