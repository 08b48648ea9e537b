package security

import (
	"context"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// tryOtherGrants acts as a worker whose certificate was stolen. It first uses the fencing token of another grant of
// leadership. It would catch a role that accepts a worker of an earlier leader, or loses its own worker to one.
func tryOtherGrants(t *testing.T, d *bobbintest.Dawdler) {
	worker := d.First(t, bobbintest.TaskExecutor)
	conn := dialMaster(t, worker)
	me, other := ids.ResourceID(worker.Container), ids.ResourceID("another")

	// A message without a token, like a worker's first message, comes under another worker's name. The role refuses it,
	// and its answer shows that it has ignored the message before.
	answer := answerTo(t, conn, "resourcemanager",
		msg.RegisterTaskExecutor{ProtocolVersion: jobgraph.ProtocolVersion, Resource: me, Host: "localhost"},
		msg.RegisterTaskExecutor{ProtocolVersion: jobgraph.ProtocolVersion, Resource: other, Host: "localhost"})
	if refused, is := answer.(msg.RegistrationRejected); !is || !strings.Contains(refused.Reason, "registers as "+string(other)) {
		t.Errorf("the ResourceManager answers %+v, want the second registration alone refused", answer)
	}
	answer = answerTo(t, conn, "jobmaster/"+d.Job,
		msg.RegisterAtJobMaster{Resource: me, Host: "localhost"},
		msg.RegisterAtJobMaster{Resource: other, Host: "localhost"})
	if refused, is := answer.(msg.Disconnect); !is || !strings.Contains(refused.Cause, "registration of "+string(other)) {
		t.Errorf("the JobMaster answers %+v, want the second registration alone refused", answer)
	}
}

// dialMaster connects to the master of a worker with that worker's certificate, which only root can steal here.
func dialMaster(t *testing.T, worker bobbintest.Process) *rolerpc.Conn {
	t.Helper()
	told, err := launch.Decode[launch.TaskExecutor](worker.Variable(t, launch.Variable))
	if err != nil {
		t.Fatal(err)
	}
	return dialAs(t, worker, told.AMAddress)
}

// dialAs is dialMaster for another address.
func dialAs(t *testing.T, worker bobbintest.Process, address string) *rolerpc.Conn {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(t.Output())
	stolen := parse(t, worker.Credentials(t).Secrets[launch.SecretCredentials])
	conn, err := rolerpc.NewConn(address, rolerpc.Config{TLS: stolen.ClientTLS(pki.OnlyRole(pki.RoleApplicationMaster)), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.Closing(t, conn)
}

// answers holds the messages of a role until the stream ends. It has room for more than the role sends.
type answers chan msg.Message

// Hears returns the messages of either role.
func (a answers) Hears() msg.Kinds {
	return msg.KindsOf(msg.TaskExecutorRegistered{}, msg.RegistrationRejected{}, msg.ReleaseTaskExecutor{}, msg.UpdateTokens{},
		msg.RequestSlots{}, msg.RegisteredAtJobMaster{}, msg.Heartbeat{}, msg.Disconnect{})
}

func (a answers) Receive(_ context.Context, m msg.Message) { a <- m }
func (a answers) Closed(context.Context, error)            { close(a) }

// answerTo sends a role a message under the token of another grant, then one without a token, and returns the first
// answer. It returns nil if the stream ends without an answer.
func answerTo(t *testing.T, conn *rolerpc.Conn, target string, stale, first msg.Message) msg.Message {
	t.Helper()
	got := make(answers, 100)
	stream, err := conn.Open(t.Context(), target, got)
	if err != nil {
		t.Fatal(err)
	}
	stream.SetToken(strings.Repeat("0", 32))
	said := stream.Send(stale)
	stream.SetToken("")
	if !stream.Send(first) || !said {
		t.Errorf("the stream to %s has ended", target)
	}
	var answer msg.Message
	wait.Until(t, target+" answers", func() bool {
		select {
		case answer = <-got:
			return true
		default:
			return false
		}
	})
	return answer
}
