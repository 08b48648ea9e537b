package dispatcher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// identity says which job a graph is. A plan depends only on the program and on the arguments, so the inputs, which may
// change, need not be compared. The zero value is for a job that cannot be read.
type identity struct {
	Name      string // shown to users; not compared
	Digest    string // of the graph's shape
	Arguments string // SHA-256 of the arguments of the plan function, in lower-case hex
}

func identityOf(g *jobgraph.JobGraph) identity {
	sum := sha256.Sum256(g.Args)
	return identity{Name: g.Name, Digest: g.Digest, Arguments: hex.EncodeToString(sum[:])}
}

// compare compares a job with the one that was submitted under its id. It returns "" if they are the same, or if this is
// not known. Otherwise it names both, and says what differs.
func (i identity) compare(job ids.JobID, submitted identity) string {
	switch {
	case i.Digest == "":
	case i.Digest != submitted.Digest:
		return fmt.Sprintf("job %s is %q with digest %s, and %q with digest %s was submitted",
			job, i.Name, i.Digest, submitted.Name, submitted.Digest)
	case i.Arguments != submitted.Arguments:
		return fmt.Sprintf("job %s is %q with arguments whose SHA-256 is %s, and %q with arguments whose SHA-256 is %s was submitted",
			job, i.Name, i.Arguments, submitted.Name, submitted.Arguments)
	}
	return ""
}
