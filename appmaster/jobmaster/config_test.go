package jobmaster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slowtask"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestOptionsReachTheJobMaster would catch an option without an effect, and two options that are swapped: the transcripts
// begin with default options, and change the fields.
func TestOptionsReachTheJobMaster(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"parallelism.default": "3", "heartbeat.interval": "4 s", "heartbeat.timeout": "50 s", "slot.request.timeout": "6 min",
		"slot.idle.timeout": "7 s", "task.cancellation.timeout": "13 s", "client.heartbeat.timeout": "8 min", "taskmanager.load-balance.mode": "TASKS",
		"jobmanager.execution.failover-strategy": "full", "web.exception-history-size": "9", "jobmanager.execution.attempts-history-size": "5",
		"execution.batch.job-recovery.previous-worker.recovery.timeout": "9 s",
		"execution.batch.speculative.enabled":                           "true", "execution.batch.speculative.max-concurrent-executions": "3",
		"execution.batch.speculative.block-slow-node-duration": "10 s", "slow-task-detector.check-interval": "11 s",
		"slow-task-detector.execution-time.baseline-lower-bound": "12 s", "slow-task-detector.execution-time.baseline-multiplier": "2.5",
		"slow-task-detector.execution-time.baseline-ratio": "0.5",
	}})
	if err != nil {
		t.Fatal(err)
	}
	graph := new(jobgraph.JobGraph)
	want := Config{
		Graph: graph, ResultBytes: collect.MaxBuffered, Restart: failover.Configured(options),
		FailoverStrategy: failover.RestartAll, ExceptionHistory: 9, AttemptsHistory: 5, BalanceTasks: true, Parallelism: 3,
		HeartbeatInterval: 4 * time.Second, HeartbeatTimeout: 50 * time.Second,
		SlotRequestTimeout: 6 * time.Minute, SlotIdleTimeout: 7 * time.Second, CancellationTimeout: 13 * time.Second, ClientTimeout: 8 * time.Minute,
		RecoveryTimeout: 9 * time.Second, Waves: true,
		Speculation: Speculation{
			Enabled: true, Attempts: 3, BlockTime: 10 * time.Second,
			Slow: slowtask.Settings{Interval: 11 * time.Second, LowerBound: 12 * time.Second, Multiplier: 2.5, Ratio: 0.5},
		},
	}
	got, err := Configured(options, graph)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("configured %v (-want +got):\n%s", err, diff)
	}
}

// TestAJobOverridesItsCluster would catch a session whose restart strategy holds for a job that names
// another one, and an option of one job that holds for the next.
func TestAJobOverridesItsCluster(t *testing.T) {
	t.Parallel()
	cluster, err := config.New(config.Layer{Source: "cluster", Values: map[string]string{
		"restart-strategy.type": "failure-rate", "restart-strategy.failure-rate.delay": "7 s",
		"jobmanager.execution.failover-strategy": "full", "slot.idle.timeout": "20 s", "slot.request.timeout": "1 min",
	}})
	if err != nil {
		t.Fatal(err)
	}
	type settings struct {
		Strategy, Failover string
		RateDelay, Initial time.Duration
		Idle, Request      time.Duration
	}
	for name, test := range map[string]struct {
		options map[string]string
		want    settings
	}{
		"a job with options": {
			map[string]string{
				"restart-strategy.type": "exponentialdelay", "restart-strategy.exponential-delay.initial-backoff": "2 s",
				"jobmanager.execution.failover-strategy": "region", "slot.idle.timeout": "3 s",
			},
			settings{failover.ExponentialDelay, failover.RestartRegion, 7 * time.Second, 2 * time.Second, 3 * time.Second, time.Minute},
		},
		"a job without": {
			nil, settings{failover.FailureRate, failover.RestartAll, 7 * time.Second, time.Second, 20 * time.Second, time.Minute},
		},
	} {
		c, err := Configured(cluster, &jobgraph.JobGraph{Name: name, Config: test.options})
		if err != nil {
			t.Fatal(err)
		}
		got := settings{c.Restart.Type, c.FailoverStrategy, c.Restart.FailureRate.Delay, c.Restart.ExponentialDelay.Initial, c.SlotIdleTimeout, c.SlotRequestTimeout}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
