package resourcemanager

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestARateOfLessThanOneIsTaken would catch an ApplicationMaster that ends at once because it reads
// a rate of 0.5 as 0.
func TestARateOfLessThanOneIsTaken(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.StartWorkerMaxFailureRate.Name(): "0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	c := Configured(options)
	c.ResourceManager, c.IDs = "rm1", "r"
	c.Worker = WorkerResourceSpec{MemoryMB: 1, VCores: 1, Slots: 1}
	if err := c.Validate(); err != nil || c.MaxStartFailures != 0.5 {
		t.Errorf("the rate is %v: %v", c.MaxStartFailures, err)
	}
}
