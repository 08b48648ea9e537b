package taskrunner

import (
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/machine"
)

// TestOptionsOfAWorker would catch an option that does not reach the TaskExecutor, its connection or its task hosts.
func TestOptionsOfAWorker(t *testing.T) {
	own := issued(t, "container_1_0001_01_000002")
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"heartbeat.interval": "3 s", "heartbeat.rpc-failure-threshold": "4",
		"logging.level": "debug", "taskmanager.slot.timeout": "7 s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	logger, _ := logtest.NewNullLogger()
	env := environment{config: options, credential: own, machine: machine.Read(), metricsPort: 9250}
	const silent = 12 * time.Second
	if got := env.connection(logger).Unreachable; got != silent {
		t.Errorf("its master's machine is lost after %v, want %v", got, silent)
	}
	if got := env.instructions(); got.Unreachable != silent || got.LogLevel != "debug" {
		t.Errorf("its hosts are told %+v, want %v and debug", got, silent)
	}
	executor := env.executor(nil)
	if executor.SlotTimeout != 7*time.Second {
		t.Errorf("a slot is free after %v, want 7 s", executor.SlotTimeout)
	}
	if executor.MetricsPort != 9250 {
		t.Errorf("its metrics are at port %d, want 9250", executor.MetricsPort)
	}
	// It would also catch a list of TaskExecutors that shows machines without cores and memory.
	if executor.Hardware.Cores <= 0 || executor.Hardware.Memory <= 0 {
		t.Errorf("the machine is %+v", executor.Hardware)
	}
}
