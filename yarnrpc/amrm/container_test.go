package amrm

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// It would catch a master that logs in with another token of its container, or as
// another attempt.
func TestOptionsFromTheContainer(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, tokens ...*creds.Token) string {
		c := creds.New()
		for _, token := range tokens {
			c.Tokens[token.Kind] = token
		}
		path := filepath.Join(dir, name)
		if err := c.WriteFile(path, creds.Writable); err != nil {
			t.Fatal(err)
		}
		return path
	}
	amrm := &creds.Token{Kind: creds.KindAMRM, Password: []byte("secret")}
	other := &creds.Token{Kind: creds.KindHDFSDelegation, Password: []byte("other")}
	master, worker := write("master", other, amrm), write("worker", other)
	const id = "container_e03_1700000000000_0007_02_000001"
	for name, test := range map[string]struct {
		id, tokens string
		want       error
		text       string // in the error
	}{
		"an ApplicationMaster":             {id: id, tokens: master},
		"a process started by hand":        {tokens: master, want: ErrNotMaster, text: "CONTAINER_ID"},
		"a container without tokens":       {id: id, want: ErrNotMaster, text: "HADOOP_TOKEN_FILE_LOCATION"},
		"a container of an application":    {id: id, tokens: worker, want: ErrNotMaster, text: "AMRM"},
		"a container id that is none":      {id: "container_x", tokens: master, want: records.ErrMalformed, text: "CONTAINER_ID"},
		"a file of tokens that is missing": {id: id, tokens: filepath.Join(dir, "gone"), want: fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := FromContainer(new(hadoopconf.Conf), func(name string) string {
				return map[string]string{"CONTAINER_ID": test.id, "HADOOP_TOKEN_FILE_LOCATION": test.tokens}[name]
			})
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Fatalf("error %v, want %v that names %q", err, test.want, test.text)
			}
			if test.want == nil && (o.Attempt.String() != "appattempt_1700000000000_0007_000002" || string(o.Token.Password) != "secret" || len(o.Addresses) != 1) {
				t.Errorf("options %+v", o)
			}
		})
	}
}
