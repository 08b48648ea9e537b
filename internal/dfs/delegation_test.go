package dfs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// refusing is a NameNode that answers each call with an error.
type refusing struct{ err error }

func (r refusing) Call(context.Context, string, proto.Message, proto.Message) error { return r.err }

// TestTheNameNodeSaysWhatIsWrongWithAToken would catch an error that does not name the token's
// renewer, and the user who has tried.
func TestTheNameNodeSaysWhatIsWrongWithAToken(t *testing.T) {
	t.Parallel()
	const at = "127.0.0.1:1"
	words := "alice tries to renew a token with non-matching renewer rm"
	refused := &yarnrpc.RemoteError{Address: at, Method: "of a token", Class: "org.apache.hadoop.security.AccessControlException", Message: words}
	away := &yarnrpc.CallError{Address: at, Method: "of a token", Err: yarnrpc.ErrTimeout}
	token := credstest.Delegation(at, identifier.Delegation{Owner: "alice", Renewer: "rm"})
	for name, tc := range map[string]struct {
		err, is error
		says    string
	}{
		"refused":    {refused, yarnrpc.ErrAccessControl, words},
		"unanswered": {away, yarnrpc.ErrTimeout, "NameNode " + at + " did not answer"},
	} {
		c := connected()
		c.name = at
		f := New(Options{User: "alice"})
		f.clusters[at] = &remote{connection: c, nameNode: hdfs.NewNameNode(refusing{tc.err})}
		_, issued := f.DelegationToken(t.Context(), "hdfs://"+at+"/", "rm/host@EXAMPLE.COM")
		_, renewed := f.RenewDelegationToken(t.Context(), "hdfs://"+at+"/", token)
		for _, err := range []error{issued, renewed, f.CancelDelegationToken(t.Context(), "hdfs://"+at+"/", token)} {
			if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), at) {
				t.Errorf("%s: got %v", name, err)
			}
			if strings.Contains(err.Error(), credstest.Password) {
				t.Errorf("%s: %v has the password", name, err)
			}
		}
		if !strings.Contains(issued.Error(), "rm/host@EXAMPLE.COM") {
			t.Errorf("%s: %v does not name the renewer", name, issued)
		}
	}
}
