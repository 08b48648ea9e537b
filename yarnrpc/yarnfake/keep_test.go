package yarnfake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// inherit is a master whose first attempt leaves a container behind. The second attempt
// stops it with the token from its registration.
func inherit(ctx context.Context, fake *yarnfake.Fake, c yarnfake.Container) error {
	m, err := newMaster(fake, c.ID.Attempt, c.Credentials.ByKind(creds.KindAMRM))
	if err != nil {
		return err
	}
	defer m.close()
	registration, err := m.rm.Register(ctx, amrm.RegisterRequest{Host: "here", RPCPort: -1})
	if err != nil {
		return err
	}
	if c.ID.Attempt.Attempt == 1 {
		m.ask(1)
		return errors.Join(m.until(ctx, "work", func() bool { return len(m.running) == 1 }), errors.New("as planned"))
	}
	kept := registration.PreviousContainers
	if len(kept) != 1 || kept[0].ID.Attempt.Attempt != 1 {
		return fmt.Errorf("there are %v of the first attempt", kept)
	}
	m.nm.SetTokens(registration.NMTokens)
	if err := m.nm.Stop(ctx, kept[0].Node, kept[0].ID); err != nil {
		return err
	}
	if err := m.until(ctx, "", func() bool { return len(m.completed) == 1 }); err != nil {
		return err
	}
	if s := m.completed[kept[0].ID]; s.ExitStatus != records.ExitKilledByAppMaster {
		return fmt.Errorf("it ended as %+v", s)
	}
	return m.rm.Finish(ctx, records.FinalSucceeded, "", "")
}

func TestContainersAreKeptForTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fake *yarnfake.Fake
		fake = start(t, yarnfake.Config{InMemory: true, Heartbeat: time.Second, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
			if !c.Master {
				return wait(ctx, c)
			}
			if err := inherit(ctx, fake, c); err != nil {
				if c.ID.Attempt.Attempt > 1 {
					t.Error(err)
				}
				return 1
			}
			return 0
		}})
		client := newClient(t, fake)
		report := submit(t, client, records.SubmissionContext{Name: "kept", KeepContainers: true})
		report = await(t, client, report.ID, ended)
		if report.State != records.ApplicationFinished || report.Attempt.Attempt != 2 {
			t.Errorf("%s at attempt %d: %s", report.State, report.Attempt.Attempt, report.Diagnostics)
		}
		// An application is finished before its master has ended.
		for {
			attempts, err := client.Attempts(t.Context(), report.ID)
			if err != nil {
				t.Fatal(err)
			}
			if last := attempts[len(attempts)-1].State; last == records.AttemptFinished || last == records.AttemptFailed {
				break
			}
			pause()
		}
	})
}
