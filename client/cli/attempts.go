package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// attempts are the ApplicationMasters that YARN has started. Without YARN they are not known.
func (c *call) attempts(ctx context.Context, site run.Site) []records.AttemptReport {
	attempts, err := site.Attempts(ctx)
	if err != nil && !errors.Is(err, run.ErrNoYARN) && !errors.Is(err, run.ErrYARNAway) {
		fmt.Fprintln(c.Err, "YARN does not list the attempts:", err)
	}
	return attempts
}

// attemptFacts are the ApplicationMasters of an application, for people. Most applications have only one, and nothing
// to tell.
func attemptFacts(attempts []records.AttemptReport) (facts terminal.Facts) {
	if len(attempts) < 2 {
		return nil
	}
	for _, a := range attempts {
		text := fmt.Sprintf("%s, from %s", a.State, a.Started.Local().Format(time.DateTime))
		if !a.Finished.IsZero() {
			text += " to " + a.Finished.Local().Format(time.DateTime)
		}
		if in := a.Container(); in != "" {
			text += ", in " + in
		}
		if at := a.Node(); at != "" {
			text += " on " + at
		}
		if why := client.EndOfAttempt(a); why != "" {
			text += ": " + why
		}
		facts = append(facts, [2]string{fmt.Sprintf("attempt %d", a.ID.Attempt), text})
	}
	return facts
}

// attempt is an ApplicationMaster, for -o json. Times are in ms since 1970.
type attempt struct {
	Number      int32                `json:"attempt"`
	State       records.AttemptState `json:"state"`
	Container   string               `json:"container,omitempty"`
	Host        string               `json:"host,omitempty"` // while it is registered
	Started     int64                `json:"started"`
	Finished    int64                `json:"finished"` // -1 until it has ended
	Reason      string               `json:"reason,omitempty"`
	Diagnostics string               `json:"diagnostics,omitempty"` // YARN's, whole
}

func attemptsOf(attempts []records.AttemptReport) []attempt {
	all := make([]attempt, len(attempts))
	for i, a := range attempts {
		all[i] = attempt{
			Number: a.ID.Attempt, State: a.State, Container: a.Container(), Host: a.Node(), Started: a.Started.UnixMilli(), Finished: -1,
			Reason: client.EndOfAttempt(a), Diagnostics: a.Diagnostics,
		}
		if !a.Finished.IsZero() {
			all[i].Finished = a.Finished.UnixMilli()
		}
	}
	return all
}
