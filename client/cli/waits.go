package cli

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// supplyOf asks what jobs wait for. The answer is empty from an ApplicationMaster of an earlier release.
func supplyOf(ctx context.Context, master *reached) (msg.SlotSupply, error) {
	supply, err := master.SlotSupply(ctx)
	if client.NotFound(err) {
		return msg.SlotSupply{}, nil
	}
	return supply, err
}

// waitsOf are the jobs that wait for slots, for people.
func waitsOf(supply msg.SlotSupply) (facts terminal.Facts) {
	for _, d := range supply.Jobs {
		if d.Waits() {
			facts = append(facts, [2]string{"waits", waitOf(supply, d)})
		}
	}
	return facts
}

// keptOf lists the TaskExecutors that stay without work, for people who see idle ones.
func keptOf(supply msg.SlotSupply) (facts terminal.Facts) {
	for _, k := range []struct {
		workers int
		why     string
	}{
		{supply.Spares, config.RedundantWorkers.Name() + ", to replace lost ones"},
		{supply.Floor, supply.FloorBy},
	} {
		if k.workers > 0 {
			facts = append(facts, [2]string{"kept", fmt.Sprintf("%d TaskExecutors without work (%s)", k.workers, k.why)})
		}
	}
	return facts
}

// waitOf says what a job waits for.
func waitOf(supply msg.SlotSupply, d msg.SlotDemand) string {
	return fmt.Sprintf("job %s since %s: %s", d.Job, progress.TimeOfDay(d.Since), supply.Explain(d, progress.TimeOfDay))
}

// waiting is a job that waits for slots, for -o json.
type waiting struct {
	Job    ids.JobID `json:"job"`
	Needed int       `json:"slotsNeeded"`
	Held   int       `json:"slotsHeld"`
	Others int       `json:"slotsOfOthers"`
	Since  int64     `json:"since"` // ms since 1970
	Why    []why     `json:"reasons"`
}

// why is a reason why a job waits, for -o json.
type why struct {
	Reason msg.WaitReason `json:"reason"`
	Words  string         `json:"words"`
	Remedy string         `json:"remedy,omitempty"`
}

func waitingOf(supply msg.SlotSupply) []waiting {
	all := []waiting{}
	for _, d := range supply.Jobs {
		if d.Waits() {
			w := waiting{Job: d.Job, Needed: d.Needed, Held: d.Held, Others: supply.Others(d), Since: d.Since.UnixMilli()}
			for _, reason := range supply.Reasons(d, progress.TimeOfDay) {
				w.Why = append(w.Why, why(reason))
			}
			all = append(all, w)
		}
	}
	return all
}
