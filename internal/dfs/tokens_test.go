package dfs

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestConnectionsShowTheNewestTokens would catch a process that opens connections with its first tokens, or with
// none after a bad message.
func TestConnectionsShowTheNewestTokens(t *testing.T) {
	t.Parallel()
	conf, err := (&hadoopconf.Conf{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var held Tokens
	files, err := Carried(Handed{HadoopConf: conf, User: "alice", Credentials: held.Load})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	of := func(password string) msg.Secret {
		c := creds.New()
		c.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte(password)}
		return c.Marshal()
	}
	for _, step := range []struct {
		name   string
		update msg.Secret
		fault  error
		want   string // password; "": there is no token
	}{
		{"none at first", nil, nil, ""},
		{"the first", of("first"), nil, "first"},
		{"the second", of("second"), nil, "second"},
		{"what is no tokens", msg.Secret("HDTS?"), creds.ErrFormat, "second"},
		{"none again", nil, nil, ""},
	} {
		if err := held.Update(step.update); !errors.Is(err, step.fault) {
			t.Errorf("%s: error %v, want %v", step.name, err, step.fault)
		}
		got := ""
		if c := files.options.Credentials(); c != nil {
			got = string(c.Select(creds.KindHDFSDelegation, "ns").Password)
		}
		if got != step.want {
			t.Errorf("%s: connections are opened with %q, want %q", step.name, got, step.want)
		}
	}
}
