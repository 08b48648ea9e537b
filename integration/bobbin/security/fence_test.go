package security

import (
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

// tryOtherGrants speaks as a worker whose certificate was stolen, first with the fencing
// token of another grant of leadership. It would catch a role that takes in a worker of a leader before it, or
// loses its own to one.
func tryOtherGrants(t *testing.T, d *bobbintest.Dawdler) {
	worker := d.First(t, bobbintest.TaskExecutor)
	conn := dialMaster(t, worker)
	me, other := ids.ResourceID(worker.Container), ids.ResourceID("another")

	// What is said without a token, as the first word of a worker is, comes in the name of another
	// one: it is refused, and so shows what was heard before.
	answer := answerTo(t, conn, "resourcemanager",
		msg.RegisterTaskExecutor{ProtocolVersion: jobgraph.ProtocolVersion, Resource: me, Host: "localhost"},
		msg.RegisterTaskExecutor{ProtocolVersion: jobgraph.ProtocolVersion, Resource: other, Host: "localhost"})
	if refused, is := answer.(msg.RegistrationRejected); !is || !strings.Contains(refused.Reason, "claims to be "+string(other)) {
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

// dialAs is dialMaster by another way to the master.
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

// answers are what a role says, until the stream ends. There is room for more than it would say.
type answers chan msg.Message

// Hears is what either role says.
func (a answers) Hears() msg.Kinds {
	return msg.KindsOf(msg.TaskExecutorRegistered{}, msg.RegistrationRejected{}, msg.ReleaseTaskExecutor{}, msg.UpdateTokens{},
		msg.RequestSlots{}, msg.RegisteredAtJobMaster{}, msg.Heartbeat{}, msg.Disconnect{})
}

func (a answers) Receive(m msg.Message) { a <- m }
func (a answers) Closed(error)          { close(a) }

// answerTo says something to a role under the token of another grant, then something under none, and gives the first
// answer; nil where the stream ends without one.
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
