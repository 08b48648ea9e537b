package run

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAJobHasEndedThoughYARNIsAway would catch a FINISHED job that becomes an error, and whose program is ended amid its
// work, since nobody answers whether the application has ended, too.
func TestAJobHasEndedThoughYARNIsAway(t *testing.T) {
	cluster := clusterOfTwo(t)
	var out bytes.Buffer
	job := targetOn(t, cluster, &out)
	submitted, err := job.submit(t.Context(), collecting())
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	defer withoutYARN(t, cluster)()
	if err := job.settle(t.Context()); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, submitted.application) || !strings.Contains(got, "bobbin gc") || strings.Count(got, "\n") != 1 {
		t.Errorf("printed %q", got)
	}
}

// TestASubmittedApplicationOutlivesASilentYARN would catch an application that waits in its queue and loses its files because
// YARN does not answer its client, an error that does not say that it may run, and one that goes on after Ctrl-C.
func TestASubmittedApplicationOutlivesASilentYARN(t *testing.T) {
	cluster := clusterOfTwo(t)
	home, err := client.StagingHome(cluster.Files, cluster.Conf, config.Config{}.String(config.YarnStagingDirectory))
	if err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"YARN is away": true, "Ctrl-C": false} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		back := func() {}
		var application string
		job := targetOn(t, cluster, hears(func(line []byte) {
			id, submitted := strings.CutPrefix(string(line), "submitted ")
			switch {
			case !submitted:
				return
			case stays:
				back = withoutYARN(t, cluster)
			default:
				interrupt(ErrInterrupted)
			}
			application = strings.TrimSpace(id)
		}))
		_, err := job.submit(ctx, collecting())
		back()
		id, unread := records.ParseApplicationID(application)
		if unread != nil {
			t.Fatalf("%s: %v, %v", name, err, unread)
		}
		if says := strings.Contains(err.Error(), "bobbin kill "+application); client.Unheard(err) != stays || says != stays || errors.Is(err, ErrInterrupted) == stays {
			t.Errorf("%s: %v", name, err)
		}
		report, err := cluster.Report(t.Context(), id)
		if err != nil || report.State.Terminal() == stays {
			t.Errorf("%s: it is %s, %v", name, report.State, err)
		}
		if _, err := cluster.Files.Stat(t.Context(), staging.Dir(home, application)); errors.Is(err, fs.ErrNotExist) == stays || stays && err != nil {
			t.Errorf("%s: of its files: %v", name, err)
		}
	}
}
