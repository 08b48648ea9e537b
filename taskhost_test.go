package bobbin

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/startup"
)

// TestAHostSaysWhoItIs would catch first lines of a task host's log that do not name the application's attempt, or the
// kind of credentials with which the host reaches HDFS.
func TestAHostSaysWhoItIs(t *testing.T) {
	t.Parallel()
	start := msg.StartHost{Resource: "container_1700000000000_0001_02_000003"}
	if says := describeHost(start); says.Attempt != 2 || says.Credentials != startup.None {
		t.Errorf("on an open cluster it says attempt %d and credentials %s", says.Attempt, says.Credentials)
	}
	start.Tokens = msg.Secret("tokens")
	if says := describeHost(start); says.Credentials != startup.Tokens {
		t.Errorf("with tokens it says credentials %s", says.Credentials)
	}
}
