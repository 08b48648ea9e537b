package userdriver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestAProgramsEnvironmentIsItsOwn would catch a program with the ApplicationMaster's own variables, and a
// program without a memory limit.
func TestAProgramsEnvironmentIsItsOwn(t *testing.T) {
	t.Parallel()
	own := []string{"PATH=/bin", launch.Variable + "=secret", launch.TokenFileVariable + "=/tokens", "GOMEMLIMIT=409MiB", "GOMAXPROCS=2", "X=" + launch.Variable}
	got := environment(slices.Clone(own), 128)
	if want := "PATH=/bin X=" + launch.Variable + " GOMEMLIMIT=128MiB"; strings.Join(got, " ") != want {
		t.Errorf("a driver's environment is %q, want %q", got, want)
	}
}

// TestNewTokensReachPrograms would catch a program that runs for days and whose later jobs cannot list
// their inputs.
func TestNewTokensReachPrograms(t *testing.T) {
	t.Parallel()
	secret := func(text string) msg.Secret {
		c := creds.New()
		c.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte(text)}
		return c.Marshal()
	}
	d, p := start(t, &fakeCluster{}, Limits{}, "tokens", "tokens", "count=x", "tokens", "hang")
	ctx, stop := context.WithCancelCause(t.Context())
	var serving sync.WaitGroup
	over := errors.New("test is over")
	serving.Go(func() {
		if _, err := p.Serve(ctx); !errors.Is(err, over) {
			t.Errorf("served to %v", err)
		}
	})
	printed := ""
	for n := 0; strings.Count(printed, "token") < 3; n++ { // an earlier update that was not sent yet is dropped
		d.UpdateTokens(secret(fmt.Sprintf("token %d", n)))
		printed = logged(t, d, ".stdout")
	}
	stop(over)
	serving.Wait()
	if !strings.Contains(printed, "FINISHED 2\n") {
		t.Errorf("the program printed %q", printed)
	}
}
