package hadoop_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbers lists what is not 0. Each sample must be in the table of metrics.
func numbers(t *testing.T, samples []metrics.Sample) (all []string) {
	t.Helper()
	for _, s := range samples {
		if d, known := metrics.Lookup(s.Scope.Level, s.Name); !known || d.Kind != s.Kind || d.Group != s.Group.Name {
			t.Errorf("%s, a %s with group %q, is in the table as %+v", s.Name, s.Kind, s.Group.Name, d)
		}
		for n := range s.Numbers() {
			if n.Value != 0 {
				all = append(all, n.ID+"="+n.String())
			}
		}
	}
	return all
}

// used counts some calls.
func used(c *hadoop.Counts) {
	failed := errors.New("no answer")
	c.Observe(yarnrpc.Try{Protocol: yarnrpc.HDFSClientProtocol, Took: 3 * time.Millisecond})
	c.Observe(yarnrpc.Try{Protocol: yarnrpc.HDFSClientProtocol, Took: time.Hour, Err: failed})
	c.Observe(yarnrpc.Try{Protocol: yarnrpc.ApplicationMasterProtocol, Took: time.Millisecond})
	c.ObserveData(hdfs.Transfer{Took: 5 * time.Millisecond})
	c.ObserveData(hdfs.Transfer{Err: failed})
	c.ObserveData(hdfs.Transfer{Err: failed, Later: true}) // the first one
	c.ObserveData(hdfs.Transfer{Write: true, Took: 7 * time.Millisecond})
	c.ObserveData(hdfs.Transfer{Write: true, Took: time.Hour, Err: failed})
	c.ObserveData(hdfs.Transfer{Write: true, Err: failed, Later: true}) // the file of the block
}

// TestCallsByProtocol would catch calls of one protocol that are counted for another one, an outage that looks like a slow
// server, reads that count as writes, and
// a block or file that counts as two because it fails later.
func TestCallsByProtocol(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry(time.Now)
	used(hadoop.New(registry, metrics.Scope{Level: metrics.JobManager}))
	samples, err := registry.Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := numbers(t, samples)
	for _, want := range []string{
		"Rpc.protocol.ClientProtocol.calls=2", "Rpc.protocol.ClientProtocol.failures=1", "Rpc.protocol.ClientProtocol.latency_max=3",
		"Rpc.protocol.ApplicationMasterProtocol.calls=1", "Rpc.protocol.ApplicationMasterProtocol.latency_count=1",
		"Hdfs.operation.read.calls=2", "Hdfs.operation.read.failures=2", "Hdfs.operation.read.latency_max=5",
		"Hdfs.operation.write.calls=2", "Hdfs.operation.write.failures=1", "Hdfs.operation.write.latency_max=7",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %v", want, got)
		}
	}
}

// TestWhatAProcessSendsIsShownAlike would catch a worker whose metrics have other names than those of the master, and a summary
// that is not made again when there are more values.
func TestWhatAProcessSendsIsShownAlike(t *testing.T) {
	t.Parallel()
	scope := metrics.Scope{Level: metrics.TaskHost}
	registry := metrics.NewRegistry(time.Now)
	shown, sent := hadoop.New(registry, scope), hadoop.New(nil, metrics.Scope{})
	for range 2 {
		used(shown)
		used(sent)
		all, err := registry.Samples(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = slices.DeleteFunc(all, func(s metrics.Sample) bool { return s.Group.Value == "ApplicationMasterProtocol" })
		want, got := numbers(t, all), numbers(t, hadoop.Samples(scope, sent.HDFS()))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if got := numbers(t, hadoop.Samples(scope, nil)); len(got) > 0 {
		t.Errorf("a process that has sent nothing: %v", got)
	}
	if m := sent.HDFS(); m.Check() != nil {
		t.Errorf("%+v is refused", m)
	}
}
