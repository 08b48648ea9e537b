package dfs

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestCarriedTokensAreShown would catch a process that received tokens and connects without them.
func TestCarriedTokensAreShown(t *testing.T) {
	t.Parallel()
	conf, err := (&hadoopconf.Conf{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	held := creds.New()
	held.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte("open sesame")}
	files, err := Carried(Handed{HadoopConf: conf, User: "alice", Tokens: held.Marshal()})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if shown := files.options.Credentials().Select(creds.KindHDFSDelegation, "ns"); shown == nil || string(shown.Password) != "open sesame" {
		t.Errorf("connections are opened with %v", shown)
	}
	if _, err := Carried(Handed{HadoopConf: conf, User: "alice", Tokens: []byte("HDTS?")}); !errors.Is(err, creds.ErrFormat) {
		t.Errorf("what is no tokens gives %v, want %v", err, creds.ErrFormat)
	}
}
