package resourcemanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Without a bound, a session would have a priority of YARN, and counts, for each size of slots that any job ever had.
func TestAClusterHasNoMoreSizesOfSlotsThanItsBound(t *testing.T) {
	c, err := newCore(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	declare := func(job ids.JobID, needs ...msg.SlotNeed) (refusals []msg.NotEnoughResources) {
		c.Step(testEpoch, jobMasterRegistering{msg.RegisterJobMaster{Job: job, JobMaster: "m"}})
		for _, e := range c.Step(testEpoch, requirementsDeclared{msg.DeclareRequirements{Job: job, JobMaster: "m", Needs: needs}}) {
			if sent, is := e.(sendJobMaster); is {
				if m, is := sent.Message.(msg.NotEnoughResources); is {
					refusals = append(refusals, m)
				}
			}
		}
		return refusals
	}
	slot := func(n int) msg.SlotNeed { return msg.SlotNeed{Profile: sized(n), Slots: 1, Part: 1} }
	var needs []msg.SlotNeed
	for n := range maxKinds - 1 { // the default size is one more
		needs = append(needs, slot(n))
	}
	if refusals := declare("j1", needs...); len(refusals) > 0 {
		t.Errorf("one of %d sizes is refused: %+v", maxKinds, refusals)
	}
	want := []msg.NotEnoughResources{{Job: "j2", Profile: sized(maxKinds), Reason: "the cluster has had slots of 256 different sizes, " +
		"and cannot have more: give slot sharing groups resources that others have, or start another cluster"}}
	if diff := cmp.Diff(want, declare("j2", slot(maxKinds))); diff != "" {
		t.Errorf("refusals of one size more (-want +got):\n%s", diff)
	}
	if len(c.kinds) != maxKinds {
		t.Errorf("the cluster has %d sizes of slots, and the bound is %d", len(c.kinds), maxKinds)
	}
	if refusals := declare("j3", slot(0)); len(refusals) > 0 {
		t.Errorf("a size that the cluster has is refused: %+v", refusals)
	}
}
