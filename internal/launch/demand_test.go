package launch

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestAJobThatCanHardlyFitIsToldSo would catch a job that silently requests 80 GB from a cluster of
// 16 GB, and a warning about a job that fits to the last megabyte.
func TestAJobThatCanHardlyFitIsToldSo(t *testing.T) {
	t.Parallel()
	c, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		config.TaskManagerProcessSize.Name(): "2g", config.TaskSlots.Name(): "2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := memory.WorkerOf(c)
	if err != nil {
		t.Fatal(err)
	}
	demandOf := func(slots int) Demand {
		return DemandOf(slots, worker, memory.Master{Process: 512 * config.Mebibyte}, c.Duration(config.SlotRequestTimeout))
	}
	const says = "the job may not fit: its 80 slots take 40 TaskExecutors of 2048 MB, 82432 MB in all, and the nodes have 16384 MB together. " +
		"Its parts run one after the other if they fit, and the job fails if it gets no slot within 5m0s (slot.request.timeout); lower -p or -tm, or raise -s"
	if got := demandOf(80).TooLarge(16384); got != says {
		t.Errorf("%q, want %q", got, says)
	}
	for name, test := range map[string]struct {
		demand  Demand
		nodesMB int64
		fits    bool
	}{
		"it fits":                     {demandOf(15), 8*2048 + 512, true},
		"a megabyte is missing":       {demandOf(15), 8*2048 + 511, false},
		"a session, without a job":    {demandOf(0), 0, true},
		"a cluster that does not say": {Demand{Slots: 80}, 0, true},
	} {
		if got := test.demand.TooLarge(test.nodesMB); (got == "") != test.fits {
			t.Errorf("%s: %q", name, got)
		}
	}
}
