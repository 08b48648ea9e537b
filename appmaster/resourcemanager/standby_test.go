package resourcemanager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A later attempt waits for leadership while its provider is registered. TestStandby would catch a standby that orders
// workers or ends one that finds it too early, and a Lead that does not reach the core before the workers do.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := testConfig()
		config.Standby, config.ResourceManager = true, ids.NewResourceManagerID(2, "rm")
		provider := newFakeProvider()
		r, err := New(config, provider, quiet())
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.Run(t.Context()) }()
		report := <-provider.report
		provider.report <- report
		id := workerID("p1")
		if err := report(t.Context(), PreviousWorkers{Workers: []PreviousWorker{{Worker: id, Host: "h"}}}); err != nil {
			t.Fatal(err)
		}
		declare(t.Context(), t, r, make(mailbox, 10), 4)
		early := make(mailbox, 10)
		if err := r.Connect(id, early).Receive(t.Context(), previousRegistration(id)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if m, open := <-early; open {
			t.Errorf("a worker that comes too early gets %+v", m)
		}
		if status, err := r.Status(t.Context()); err != nil || status.Previous != 1 || status.Requested != 0 {
			t.Errorf("in standby the status is %+v, error %v", status, err)
		}
		if diff := cmp.Diff([]string(nil), provider.lines()); diff != "" {
			t.Errorf("in standby the provider was told (-want +got):\n%s", diff)
		}

		if err := r.Lead(t.Context()); err != nil {
			t.Fatal(err)
		}
		worker := make(mailbox, 10)
		if err := r.Connect(id, worker).Receive(t.Context(), previousRegistration(id)); err != nil {
			t.Fatal(err)
		}
		if m, ok := next(t, worker).(msg.TaskExecutorRegistered); !ok || m.Workers != 1 || m.ResourceManager.Epoch() != 2 {
			t.Errorf("answer to the registration is %+v", m)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"start w1"}, provider.lines()); diff != "" {
			t.Errorf("when all workers have returned, the provider was told (-want +got):\n%s", diff)
		}
		r.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// previousRegistration is that of a worker of an earlier attempt.
func previousRegistration(id ids.ResourceID) msg.RegisterTaskExecutor {
	r := registration(id)
	r.Memory, r.VCores = testConfig().Worker.Memory, testConfig().Worker.VCores
	return r
}
