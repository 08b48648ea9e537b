package dispatcher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestOptionsReachTheDispatcher would catch an option without an effect, and two options that are swapped.
func TestOptionsReachTheDispatcher(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"jobstore.expiration-time": "2 h", "jobstore.max-capacity": "3", "jobstore.cache-size": "4m",
		"client.heartbeat.interval": "5 s", "jobmanager.memory.heap.size": "600m",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Archive:  Limits{Time: 2 * time.Hour, Jobs: 3, Bytes: 4 << 20},
		MemoryBy: config.JobManagerHeapSize, ClientInterval: 5 * time.Second,
	}
	if diff := cmp.Diff(want, Configured(options)); diff != "" {
		t.Errorf("configured (-want +got):\n%s", diff)
	}
}
