package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// groupAmounts is a slot sharing group with the resources of each of its slots, for -o json.
type groupAmounts struct {
	Name      string             `json:"name"`
	Slots     int                `json:"slots"`
	Resources jobgraph.Resources `json:"resources"`
}

// amountsOf lists the slot sharing groups of a job if they have resources; otherwise nothing.
func amountsOf(g *jobgraph.JobGraph) (amounts []groupAmounts) {
	slots := g.GroupSlots()
	for i, group := range g.SlotGroups() {
		if group.Resources != nil {
			amounts = append(amounts, groupAmounts{group.Name, slots[i], *group.Resources})
		}
	}
	return amounts
}

// writeAmounts prints a table of the groups, unless there are none.
func writeAmounts(out io.Writer, amounts []groupAmounts) error {
	if len(amounts) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nEach slot of a slot sharing group has:")
	table := terminal.Table{Columns: []terminal.Column{
		{Title: "group"}, {Title: "slots"}, {Title: "cores"}, {Title: "task heap"}, {Title: "task off-heap"}, {Title: "managed"}, {Title: "external"},
	}}
	for _, a := range amounts {
		r := a.Resources
		size := func(bytes int64) string {
			if bytes == 0 {
				return "none"
			}
			return memory.Text(config.Bytes(bytes))
		}
		table.Add(terminal.Visible(a.Name), fmt.Sprint(a.Slots), fmt.Sprint(r.CPU), size(r.TaskHeap), size(r.TaskOffHeap), size(r.Managed),
			terminal.Visible(cmp.Or(string(msg.ExternalResourcesOf(r.External)), "none")))
	}
	return table.Write(out)
}
