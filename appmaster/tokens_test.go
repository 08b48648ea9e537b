package appmaster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// issuer is a provider whose tokens the test chooses.
type issuer chan string

func (i issuer) Obtain(ctx context.Context) (tokenmanager.Obtained, error) {
	select {
	case text := <-i:
		c := creds.New()
		c.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte(text)}
		return tokenmanager.Obtained{Credentials: c, Ends: time.Now()}, nil // to be asked again soon
	case <-ctx.Done():
		return tokenmanager.Obtained{}, context.Cause(ctx)
	}
}

// held are files that cannot be read before the test releases them, in whichever way: small ones are loaded, large ones opened.
type held struct {
	*dataflowtest.Files
	released chan struct{}
}

func (h held) wait(ctx context.Context) error {
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h held) Open(ctx context.Context, uri string) (filesystem.File, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Files.Open(ctx, uri)
}

func (h held) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	if err := h.wait(ctx); err != nil {
		return nil, filesystem.FileInfo{}, err
	}
	return h.Files.Load(ctx, uri, limit)
}

// TestNewTokensReachEveryTaskHost follows new tokens from the login to the processes that read files. It
// would catch a part on their way that drops them, and a replaced host that starts with older tokens.
func TestNewTokensReachEveryTaskHost(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n", "/in/b": "x\n"})
	slow := held{files, make(chan struct{})}
	c := startCluster(t, dispatcher.Attached, files)
	told := make(chan string, 64)
	c.workers.files = slow
	c.workers.tokens = func(what string, tokens msg.Secret) {
		text := "none"
		if tokens != nil {
			parsed, err := creds.Parse(tokens)
			if err != nil {
				t.Error(err)
				return
			}
			text = string(parsed.Tokens["ns"].Password)
		}
		told <- what + " " + text
	}
	expect := func(want string, times int) {
		t.Helper()
		for range times {
			if got := <-told; got != want {
				t.Errorf("a host %s, want one that %s", got, want)
			}
		}
	}

	provider := make(issuer)
	manager, err := tokenmanager.New(tokenmanager.Config{RenewalRatio: 0.75, RetryBackoff: time.Hour},
		provider, creds.New(), c.ResourceManager.UpdateTokens, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx) }()
	defer func() {
		end()
		<-ended
	}()

	c.submit(t, planned(t, files, "/in", nil))
	expect("starts none", 2)
	provider <- "first"
	if err := manager.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("gets first", 2)
	c.workers.kill("w1")
	// The other worker's tasks restart in their host.
	expect("starts first", 1)
	close(slow.released)
	if result := c.result(t); result.Status != msg.JobFinished {
		t.Errorf("job is %s with failure %v, want FINISHED", result.Status, result.Failure)
	}
}

// registering is a provider of workers that YARN knows once it runs.
type registering struct {
	*workers
	known func()
}

func (r registering) Run(ctx context.Context, report resourcemanager.Report) error {
	r.known()
	return r.workers.Run(ctx, report)
}

// renewed is the Election of an attempt that must not lead before its tokens are new.
type renewed struct {
	ha.Election
	t     *testing.T
	fresh *atomic.Bool
}

func (r renewed) Lead(ctx context.Context) (ha.Term, error) {
	if !r.fresh.Load() {
		r.t.Error("the attempt leads, and would start workers, without tokens")
	}
	return r.Election.Lead(ctx)
}

// TestAnAttemptRegistersBeforeItHasTokens would catch an outage of HDFS that uses up one attempt after the other: YARN gives
// up an attempt that does not register, and one that starts after the end of the first tokens waits for new ones.
func TestAnAttemptRegistersBeforeItHasTokens(t *testing.T) {
	t.Parallel()
	w := newWorkers(t, dataflowtest.NewFiles(nil))
	env := testEnvironment(t, "file://"+t.TempDir())
	known := make(chan struct{})
	p, err := build(t.Context(), time.Now(), env, quiet(), func(_ *process, supply Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
		return registering{w, func() { close(known); supply.Registered("") }}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	provider, fresh := make(issuer), new(atomic.Bool)
	settings := tokenmanager.Configured(config.Config{})
	if p.tokens, err = tokenmanager.New(settings, provider, creds.New(), p.distribute, quiet()); err != nil {
		t.Fatal(err)
	}
	memory := ha.NewMemory()
	if _, err := memory.Election(2).Lead(t.Context()); err != nil { // so that this one ends when it tries to lead
		t.Fatal(err)
	}
	p.outside.Election = renewed{memory.Election(1), t, fresh}
	ended := make(chan error, 1)
	go func() {
		_, err := p.run(t.Context())
		ended <- err
	}()
	<-known
	fresh.Store(true)
	provider <- "new"
	if err := <-ended; !errors.Is(err, ha.ErrSuperseded) {
		t.Errorf("the attempt ends with %v", err)
	}
}
