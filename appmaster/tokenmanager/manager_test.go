package tokenmanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// delegation is a NameNode's token, whose identifier says how long it may be renewed.
func delegation(service string, issued, maximum time.Time) *creds.Token {
	return credstest.Delegation(service, identifier.Delegation{Owner: "alice", Renewer: "yarn", Issued: issued, Max: maximum})
}

// own are the credentials of an ApplicationMaster.
func own(tokens ...*creds.Token) *creds.Credentials {
	c := creds.New()
	c.Tokens[""] = &creds.Token{Kind: creds.KindAMRM, Password: []byte("password of the AMRM token")}
	c.Secrets["bobbin.credentials"] = []byte("private key")
	for _, t := range tokens {
		c.Tokens[t.Service] = t
	}
	return c
}

// kdc is a Provider whose tokens live for a day, and which is down at times.
type kdc struct {
	down  func(at time.Time) bool
	hangs bool // when it is down it does not answer at all

	mu   sync.Mutex // guards ends
	ends time.Time  // of the last tokens
}

var errKDC = errors.New("no KDC answers")

func (k *kdc) Obtain(ctx context.Context) (Obtained, error) {
	now := time.Now()
	if k.down != nil && k.down(now) {
		if k.hangs {
			<-ctx.Done()
			return Obtained{}, context.Cause(ctx)
		}
		return Obtained{}, errKDC
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ends = now.Add(24 * time.Hour)
	c := creds.New()
	c.Tokens["ns1"] = delegation("ns1", now, now.Add(7*24*time.Hour))
	return Obtained{Credentials: c, Ends: k.ends}, nil
}

// workers receive distributed tokens.
type workers struct {
	mu    sync.Mutex // guards got
	got   []msg.Secret
	gone  bool
	block chan struct{} // nil: they receive at once
}

func (w *workers) take(ctx context.Context, tokens msg.Secret) error {
	if w.block != nil {
		select {
		case <-w.block:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return actor.ErrStopped
	}
	w.got = append(w.got, tokens)
	return nil
}

func quiet() (*logrus.Logger, *logtest.Hook) {
	logger, hook := logtest.NewNullLogger()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.DebugLevel)
	return logger, hook
}

func start(t *testing.T, provider Provider, w *workers, initial *creds.Credentials) (m *Manager, hook *logtest.Hook, end func()) {
	t.Helper()
	logger, hook := quiet()
	m, err := New(testConfig(), provider, initial, w.take, logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	cause := errors.New("the process ends")
	return m, hook, func() {
		t.Helper()
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("Run = %v, want the cause of its end", err)
		}
	}
}

// TestTokensLiveForAMonth would catch a manager that misses the end of the tokens, that stops after an
// outage, or that obtains many more tokens than necessary.
func TestTokensLiveForAMonth(t *testing.T) {
	for name, hangs := range map[string]bool{"a KDC that refuses": false, "a KDC that hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				provider := &kdc{hangs: hangs, down: func(at time.Time) bool {
					day := at.Sub(began) % (5 * 24 * time.Hour) // for five hours, at a time when tokens are due
					return day >= 18*time.Hour && day < 23*time.Hour
				}}
				var w workers
				m, hook, end := start(t, provider, &w, own(delegation("ns1", began, began.Add(7*24*time.Hour))))
				if err := m.Ready(t.Context()); err != nil {
					t.Error(err)
				}
				for range 30 * 24 * 6 {
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					provider.mu.Lock()
					ends := provider.ends
					provider.mu.Unlock()
					if !time.Now().Before(ends) {
						t.Fatalf("after %v the tokens have ended", time.Since(began))
					}
				}
				w.mu.Lock()
				if n := len(w.got); n < 30 || n > 60 || string(w.got[n-1]) != string(m.Current().Marshal()) {
					t.Errorf("%d new sets of tokens in a month, the last of which is the current one: %t", n, n > 0 && string(w.got[n-1]) == string(m.Current().Marshal()))
				}
				w.mu.Unlock()
				end()
				failures := 0
				for _, entry := range hook.AllEntries() {
					if entry.Level == logrus.WarnLevel {
						failures++
						if entry.Data["principal"] != "alice@EXAMPLE.COM" || entry.Data[logrus.ErrorKey] == nil || entry.Data["ends"] == "none" {
							t.Errorf("a failure is told with %v", entry.Data)
						}
					}
					if entry.Level < logrus.WarnLevel {
						t.Errorf("people are told %q", entry.Message)
					}
					if text := fmt.Sprintf("%v %+v %#v", entry.Message, entry.Data, entry.Data); strings.Contains(text, credstest.Password) {
						t.Errorf("a log entry holds the token: %s", text)
					}
				}
				if failures == 0 || failures > 100 {
					t.Errorf("%d failures are told", failures)
				}
			})
		})
	}
}

// TestLaterAttemptWaitsForNewTokens would catch a second ApplicationMaster that starts its job with the
// expired tokens of the first.
func TestLaterAttemptWaitsForNewTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		provider := &kdc{down: func(at time.Time) bool { return at.Sub(began) < 2*time.Minute }}
		var w workers
		m, hook, end := start(t, provider, &w, own(delegation("ns1", began.Add(-8*24*time.Hour), began.Add(-24*time.Hour))))
		if err := m.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if waited := time.Since(began); waited < 2*time.Minute || waited > 5*time.Minute {
			t.Errorf("work begins after %v, the KDC is back after 2m0s", waited)
		}
		if got := m.Current().Select(creds.KindHDFSDelegation, "ns1"); got == nil || len(w.got) != 1 {
			t.Errorf("current are %v, and %d were distributed", m.Current(), len(w.got))
		}
		loud := 0
		for _, entry := range hook.AllEntries() {
			if entry.Level == logrus.ErrorLevel && strings.Contains(entry.Message, "all former ones have ended") {
				loud++
			}
		}
		if loud == 0 {
			t.Error("nobody was told that no token lives")
		}
		end()
	})
}

// TestWithoutLoginPeopleAreWarned would catch a job that fails at the end of its tokens without an earlier
// warning.
func TestWithoutLoginPeopleAreWarned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var w workers
		m, hook, end := start(t, nil, &w, own(
			delegation("ns1", began, began.Add(7*24*time.Hour)),
			delegation("ns2", began, began.Add(6*24*time.Hour)),
		))
		if err := m.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * 24 * time.Hour)
		synctest.Wait()
		end()
		if len(w.got) != 0 {
			t.Errorf("%d sets of tokens were distributed", len(w.got))
		}
		warnings, errs := 0, 0
		for _, entry := range hook.AllEntries() {
			switch entry.Level {
			case logrus.WarnLevel:
				warnings++
			case logrus.ErrorLevel:
				errs++
			default:
				continue
			}
			remedy, _ := entry.Data["remedy"].(string)
			if entry.Data["service"] != "ns2" || entry.Data["ends"] != stamp(began.Add(6*24*time.Hour)) || !strings.Contains(remedy, "security.kerberos.login.keytab") {
				t.Errorf("people are told %q with %v", entry.Message, entry.Data)
			}
		}
		if warnings < 3 || errs != 1 {
			t.Errorf("%d warnings and %d errors", warnings, errs)
		}
	})
}

// TestNothingButHDFSTokensIsPassedOn would catch a worker that gets the ApplicationMaster's own token, or a
// secret of it, at the start or later.
func TestNothingButHDFSTokensIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		initial := own(delegation("ns1", began, began.Add(time.Hour)), delegation("other", began, began.Add(time.Hour)))
		for _, kind := range []string{creds.KindNM, creds.KindContainer, creds.KindClientToAM, creds.KindRMDelegation, creds.KindTimelineService} {
			initial.Tokens[kind] = &creds.Token{Kind: kind, Service: "s", Password: []byte(kind)}
		}
		var w workers
		logger, _ := quiet()
		m, err := New(testConfig(), new(kdc), initial, w.take, logger)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, c *creds.Credentials) {
			t.Helper()
			if len(c.Secrets) > 0 || len(c.Tokens) != 2 {
				t.Errorf("%s: %v is passed on, want two tokens", when, c)
			}
			for _, token := range c.Tokens {
				if token.Kind != creds.KindHDFSDelegation {
					t.Errorf("%s: %v is passed on", when, token)
				}
			}
		}
		check("before it runs", m.Current())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		synctest.Wait()
		check("later", m.Current())
		for _, tokens := range w.got {
			c, err := creds.Parse(tokens)
			if err != nil {
				t.Fatal(err)
			}
			check("to running processes", c)
		}
		if len(w.got) != 1 {
			t.Errorf("%d sets were distributed", len(w.got))
		}
		cancel()
		<-ended
		if len(initial.Tokens) != 8 || len(initial.Secrets) != 1 {
			t.Errorf("the ApplicationMaster's own credentials have become %v", initial)
		}
	})
}

// TestEndDoesNotWaitForAnybody would catch an ApplicationMaster that cannot end while a KDC or the workers
// do not answer.
func TestEndDoesNotWaitForAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := func(time.Time) bool { return true }
		m, _, end := start(t, &kdc{down: always, hangs: true}, new(workers), own())
		waiting := make(chan error, 1)
		go func() { waiting <- m.Ready(t.Context()) }()
		synctest.Wait()
		end()
		if err := <-waiting; !errors.Is(err, actor.ErrStopped) {
			t.Errorf("Ready = %v, want ErrStopped", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &workers{block: make(chan struct{})}
		m, _, end := start(t, new(kdc), w, own())
		time.Sleep(30 * 24 * time.Hour) // more than may wait
		if err := m.Ready(t.Context()); err != nil || len(m.Current().Tokens) != 1 {
			t.Errorf("Ready = %v, current are %v", err, m.Current())
		}
		end()
	})
	synctest.Test(t, func(t *testing.T) {
		_, hook, end := start(t, new(kdc), &workers{gone: true}, own())
		synctest.Wait()
		end()
		for _, entry := range hook.AllEntries() {
			if entry.Level < logrus.InfoLevel {
				t.Errorf("the end of the workers is told as %q", entry.Message)
			}
		}
	})
}

// TestTokensThatDoNotTellTheirEnd would catch a manager that does not start with such tokens, or that takes
// them for tokens that ended in 1970.
func TestTokensThatDoNotTellTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		odd := &creds.Token{Kind: creds.KindHDFSDelegation, Service: "odd", Identifier: []byte{9}, Password: []byte(credstest.Password)}
		m, hook, end := start(t, nil, new(workers), own(odd, delegation("ns1", began, began.Add(time.Hour))))
		synctest.Wait()
		end()
		if len(m.Current().Tokens) != 2 {
			t.Errorf("current are %v", m.Current())
		}
		told := map[string]int{}
		for _, entry := range hook.AllEntries() {
			if entry.Level == logrus.WarnLevel {
				told[entry.Message]++
			}
		}
		if len(told) != 2 {
			t.Errorf("people are told %v, want of the odd token and of the other's end", told)
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"security.delegation.tokens.renewal.time-ratio":    "0.5",
		"security.delegation.tokens.renewal.retry.backoff": "10 min",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := Configured(options); got != (Config{RenewalRatio: 0.5, RetryBackoff: 10 * time.Minute}) {
		t.Errorf("options are read as %+v", got)
	}
	if got := Configured(config.Config{}); got.RenewalRatio != 0.75 || got.RetryBackoff != time.Hour {
		t.Errorf("the default is %+v", got)
	}
	logger, _ := quiet()
	for _, ratio := range []float64{0, 1, -1} {
		_, err := New(Config{RenewalRatio: ratio}, nil, own(), nil, logger)
		for _, part := range []string{"security.delegation.tokens.renewal.time-ratio", "security.delegation.tokens.renewal.retry.backoff"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("a ratio of %v, and no back-off: %v, want an error that names %s", ratio, err, part)
			}
		}
	}
}
