package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// fakeCluster starts a YARN cluster.
func fakeCluster(t *testing.T, c yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

// seenBy is a cluster for a user, without files.
func seenBy(t *testing.T, user string, fake *yarnfake.Fake, conf *hadoopconf.Conf) *Cluster {
	t.Helper()
	o, err := yarnclient.FromConf(fake.Conf(), user)
	if err != nil {
		t.Fatal(err)
	}
	o.PollInterval = 5 * time.Millisecond
	yarn := yarnclient.New(o)
	t.Cleanup(func() { yarn.Close() })
	return &Cluster{Conf: conf, User: user, YARN: yarn, patience: time.Minute}
}

// registered is an application of alice whose ApplicationMaster is at an address, and the key that YARN gave to
// the ApplicationMaster.
func registered(t *testing.T, fake *yarnfake.Fake, register func(attempt records.ApplicationAttemptID) amrm.RegisterRequest) (records.ApplicationID, []byte) {
	t.Helper()
	id, _, registration := registeredMaster(t, fake, register)
	return id, registration.ClientToAMKey
}

// registeredMaster is such an application, and the connection of its ApplicationMaster to YARN.
func registeredMaster(t *testing.T, fake *yarnfake.Fake, register func(attempt records.ApplicationAttemptID) amrm.RegisterRequest) (records.ApplicationID, *amrm.Client, amrm.Registration) {
	t.Helper()
	alice := seenBy(t, "alice", fake, fake.Conf()).YARN
	created, err := alice.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report, err := alice.Submit(t.Context(), records.SubmissionContext{
		ID: created.ID, Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := amrm.FromConf(fake.Conf())
	if err != nil {
		t.Fatal(err)
	}
	o.Attempt, o.Token = report.Attempt, report.AMRMToken
	rm := amrm.New(o)
	t.Cleanup(func() { rm.Close() })
	registration, err := rm.Register(t.Context(), register(report.Attempt))
	if err != nil {
		t.Fatal(err)
	}
	return created.ID, rm, registration
}

// TestOthersReachAnApplicationByTokensOfYARN would catch a user who has the right to look and cannot, and one
// who can do more than look.
func TestOthersReachAnApplicationByTokensOfYARN(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{ClientTokens: true})
	var verifier *clienttoam.Verifier
	id, key := registered(t, fake, func(attempt records.ApplicationAttemptID) amrm.RegisterRequest {
		var err error
		if verifier, err = clienttoam.NewVerifier(attempt, ""); err != nil {
			t.Fatal(err)
		}
		access := resttest.Serve(t, gateway{}, rest.Config{ClientToAM: verifier, Rights: rest.Rights{Owner: "alice", Enforced: true}})
		host, port, err := net.SplitHostPort(access.Address)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		return amrm.RegisterRequest{Host: host, RPCPort: number}
	})
	reach := func(user string) *ClusterClient {
		c, err := seenBy(t, user, fake, fake.Conf()).Reach(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	bob := reach("bob")
	// Each command would wait for ever, or tell scripts to try again, although no later try succeeds.
	_, err := slotsOf(t, bob)
	if err = seenBy(t, "bob", fake, fake.Conf()).Explain(t.Context(), id, bob, err); Unreachable(err) || Gone(err) || errors.Is(err, ErrReplacing) || !strings.Contains(err.Error(), "bobbin kill "+id.String()) {
		t.Errorf("it leads and has no key: got %v, want no one to try again", err)
	}
	verifier.SetKey(key)
	for range 2 { // on one connection
		if slots, err := slotsOf(t, bob); err != nil || slots != 3 {
			t.Errorf("bob sees %d slots, %v", slots, err)
		}
	}
	_, err = bob.Result(t.Context(), failedJob)
	if status, ok := errors.AsType[*StatusError](err); !ok || status.Status != http.StatusForbidden || !strings.Contains(err.Error(), "bob") {
		t.Errorf("bob fetches the result: %v", err)
	}
	if _, err := reach("alice").Result(t.Context(), failedJob); err != nil {
		t.Errorf("its owner: %v", err)
	}
	verifier.SetKey([]byte("of another attempt"))
	if _, err := slotsOf(t, reach("bob")); !errors.Is(err, clienttoam.ErrUnproven) {
		t.Errorf("an ApplicationMaster with another key: %v", err)
	}
}

// TestWhoCannotReachAnApplicationIsToldWhy would catch a refusal without a remedy, and one after which the
// client tries forever.
func TestWhoCannotReachAnApplicationIsToldWhy(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{})
	id, _ := registered(t, fake, func(records.ApplicationAttemptID) amrm.RegisterRequest {
		return amrm.RegisterRequest{Host: "127.0.0.1", RPCPort: 1}
	})
	secure := fake.Conf().With("test", map[string]string{"hadoop.security.authentication": "kerberos"})
	for name, test := range map[string]struct {
		cluster *Cluster
		want    error
		says    string
	}{
		"another user of an open cluster": {seenBy(t, "bob", fake, fake.Conf()), ErrNoAccess, "belongs to user alice"},
		"a user whom YARN gives no token": {seenBy(t, "bob", fake, secure), ErrNoAccess, "yarn.view.acls"},
		"its owner, whom it gives none":   {seenBy(t, "alice", fake, secure), ErrNoAccess, "no token"},
	} {
		if _, err := test.cluster.Reach(t.Context(), id); !errors.Is(err, test.want) || Unreachable(err) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %v and %q", name, err, test.want, test.says)
		}
	}
	alice := seenBy(t, "alice", fake, fake.Conf())
	if err := alice.YARN.Kill(t.Context(), id, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Reach(t.Context(), id); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "KILLED") {
		t.Errorf("after its end: %v", err)
	}
}

// slotsOf asks a master for what every user with the right to look may see.
func slotsOf(t *testing.T, c *ClusterClient) (int, error) {
	t.Helper()
	o, err := c.Overview(t.Context())
	return o.Slots, err
}

// TestOnlyAServerThatIsSilentIsUnheard would catch the message that YARN does not answer for a user without a
// ticket, and a command that then tries HDFS, which also needs a ticket.
func TestOnlyAServerThatIsSilentIsUnheard(t *testing.T) {
	for cause, want := range map[error]bool{
		syscall.ECONNREFUSED: true, yarnrpc.ErrTimeout: true, context.DeadlineExceeded: true,
		kerberos.ErrKDC: false, kerberos.ErrNoTicket: false, kerberos.ErrExpired: false,
	} {
		err := &yarnrpc.CallError{Address: "rm:8032", Method: "getApplicationReport", Err: fmt.Errorf("given up after 3 tries: %w", cause)}
		if got := Unheard(fmt.Errorf("reach: %w", err)); got != want {
			t.Errorf("%v: unheard %t, want %t", err, got, want)
		}
	}
	if Unheard(&yarnrpc.RemoteError{}) || Unheard(nil) {
		t.Error("a server that refuses is taken for one that does not answer")
	}
}

// TestAMasterIsReachedWithoutItsResourceManager would catch a command on a session that waits for a
// ResourceManager that is down, one that asks a master that has ended according to YARN, and an error about the
// staged file instead of the error of YARN.
func TestAMasterIsReachedWithoutItsResourceManager(t *testing.T) {
	away := fmt.Errorf("ResourceManager does not answer: %w", &yarnrpc.CallError{})
	gone := &NotRunningError{}
	none := errors.New("nothing is staged")
	type way struct {
		takes time.Duration
		err   error
	}
	const patience = 3 * time.Second
	for name, c := range map[string]struct {
		yarn, staged way
		by           int32 // 1: YARN, 2: what is staged
		err          error
		after        time.Duration
	}{
		"YARN answers":                           {way{time.Second, nil}, way{0, nil}, 1, nil, time.Second},
		"YARN refuses":                           {way{time.Second, gone}, way{0, nil}, 0, gone, time.Second},
		"YARN is down":                           {way{time.Second, away}, way{time.Second, nil}, 2, nil, 2 * time.Second},
		"YARN is down, and nothing is staged":    {way{time.Second, away}, way{0, none}, 0, away, time.Second},
		"YARN is silent":                         {way{time.Hour, nil}, way{time.Second, nil}, 2, nil, patience + time.Second},
		"YARN is silent, and nothing is staged":  {way{time.Minute, away}, way{time.Second, none}, 0, away, time.Minute},
		"YARN is down in the end":                {way{4 * time.Second, away}, way{5 * time.Second, nil}, 2, nil, patience + 5*time.Second},
		"YARN is slow":                           {way{10 * time.Second, nil}, way{time.Minute, nil}, 1, nil, 10 * time.Second},
		"YARN is slow, and says that it is gone": {way{10 * time.Second, gone}, way{time.Minute, nil}, 0, gone, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				try := func(number int32, w way) func(context.Context) (*ClusterClient, error) {
					return func(ctx context.Context) (*ClusterClient, error) {
						timer := time.NewTimer(w.takes)
						defer timer.Stop()
						select {
						case <-timer.C:
						case <-ctx.Done():
							return nil, fmt.Errorf("%w: %w", away, ctx.Err())
						}
						if w.err != nil {
							return nil, w.err
						}
						return &ClusterClient{Attempt: number, http: new(http.Client)}, nil
					}
				}
				reached, err := firstOf(t.Context(), patience, try(1, c.yarn), try(2, c.staged))
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || err == nil && reached.Attempt != c.by {
					t.Errorf("reached %+v, %v", reached, err)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
			})
		})
	}
}
