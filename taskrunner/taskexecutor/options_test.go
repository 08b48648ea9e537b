package taskexecutor

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestOptionsReachTheTaskExecutor would catch two options that are swapped.
func TestOptionsReachTheTaskExecutor(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"cluster.registration.initial-timeout": "200 ms", "cluster.registration.max-timeout": "3 s",
		"taskmanager.registration.timeout": "4 min", "taskmanager.slot.timeout": "5 s", "blob.fetch.retries": "3",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		RegistrationInitial: 200 * time.Millisecond, RegistrationMax: 3 * time.Second,
		RegistrationTimeout: 4 * time.Minute, SlotTimeout: 5 * time.Second, FetchRetries: 3,
	}
	if got := OptionsFrom(options); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
