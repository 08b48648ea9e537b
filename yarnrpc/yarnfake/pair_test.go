package yarnfake_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// It would catch a pair whose second ResourceManager does not take over the applications, and a master or a client that
// stays with the first one.
func TestTheOtherResourceManagerTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := start(t, yarnfake.Config{HighAvailability: true, InMemory: true, Run: wait})
		client, report, m := unmanaged(t, fake)
		m.ask(1)
		m.run(t, "sleep 1000", func() bool { return len(m.running) == 1 })
		for over := 1; over <= 2; over++ { // there and back
			fake.FailOver()
			m.run(t, "", func() bool { return m.resynced == over })
			now, err := client.ApplicationReport(t.Context(), report.ID)
			if err != nil || now.State != records.ApplicationRunning {
				t.Errorf("after %d failovers the application is %+v, %v", over, now, err)
			}
		}
		m.rm.Release(m.running[0].ID)
		m.run(t, "", func() bool { return len(m.completed) == 1 })
	})
}

// It would catch a standby that answers, or that stays a standby.
func TestAStandbyAcceptsNobody(t *testing.T) {
	for _, test := range []struct {
		name     string
		inMemory bool
		want     error
	}{
		{"in memory", true, syscall.ECONNREFUSED},
		{"with sockets", false, yarnrpc.ErrStandby},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := start(t, yarnfake.Config{HighAvailability: true, InMemory: test.inMemory, Run: wait})
			rms, err := fake.Conf().ResourceManagers()
			if err != nil || len(rms) != 2 {
				t.Fatalf("the ResourceManagers are %v, %v", rms, err)
			}
			o, err := yarnrpc.OptionsFrom(fake.Conf())
			if err != nil {
				t.Fatal(err)
			}
			o.Protocol, o.User = yarnrpc.ApplicationClientProtocol, yarnrpc.UserInformation{Effective: "alice"}
			if test.inMemory {
				o.Dial = fake.Dial
			}
			check := func(when string, active ...int) {
				t.Helper()
				for i, rm := range rms {
					p := yarnrpc.NewProxy([]string{rm.Client}, o, yarnrpc.Policy{})
					err := p.Call(t.Context(), "getClusterMetrics", new(yarnpb.GetClusterMetricsRequestProto), new(yarnpb.GetClusterMetricsResponseProto))
					p.Close()
					switch {
					case slices.Contains(active, i):
						if err != nil {
							t.Errorf("%s: the active %s: %v", when, rm.ID, err)
						}
					case !errors.Is(err, test.want) || yarnrpc.MaybeSent(err) || yarnrpc.Classify(err) != yarnrpc.FailOver:
						t.Errorf("%s: the standby %s: %v, want %v", when, rm.ID, err, test.want)
					}
				}
			}
			check("at first", 0)
			fake.FailOver()
			check("after a failover", 1)
			fake.Standby(true)
			check("with two standbys")
			fake.Standby(false)
			check("active again", 1)
			fake.Standby(true)
			fake.FailOver()
			check("after a failover without an active one", 0)
		})
	}
}
