package appmaster

import (
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// TestOptionsOfConnectionsToWorkers would catch a master that notices lost machines too late, or never.
func TestOptionsOfConnectionsToWorkers(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.IssueTaskExecutor("container_1_0001_01_000002", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"heartbeat.interval": "3 s", "heartbeat.rpc-failure-threshold": "4",
	}})
	if err != nil {
		t.Fatal(err)
	}
	logger, _ := logtest.NewNullLogger()
	if got := (environment{config: options}).connections(own, logger).Unreachable; got != 12*time.Second {
		t.Errorf("a worker's machine is lost after %v, want 12 s", got)
	}
}
