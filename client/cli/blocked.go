package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// blockedFacts are the nodes that jobs have set aside, for people. The output of a task
// host, which a cause may quote from its second line on, is left out.
func blockedFacts(nodes []msg.BlockedNode) (facts terminal.Facts) {
	for _, n := range nodes {
		why, _, _ := strings.Cut(n.Cause, "\n")
		facts = append(facts, [2]string{"set aside", fmt.Sprintf("node %s until %s: %s", n.Node, n.Until.Local().Format(time.DateTime), why)})
	}
	return facts
}

// blockedNode is a node that jobs have set aside, as -o json has it.
type blockedNode struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
	Until int64  `json:"until"` // ms since 1970
}

func blockedOf(nodes []msg.BlockedNode) []blockedNode {
	blocked := make([]blockedNode, len(nodes))
	for i, n := range nodes {
		blocked[i] = blockedNode{n.Node, n.Cause, n.Until.UnixMilli()}
	}
	return blocked
}
