package client

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTheEndCancelsNoTokensOfAnotherLauncher would catch an application at whose end YARN cancels the tokens
// of its launcher, whose other jobs need them, and one that leaves tokens of its own alive.
func TestTheEndCancelsNoTokensOfAnotherLauncher(t *testing.T) {
	handed := creds.New()
	handed.Tokens["home"] = token(creds.KindHDFSDelegation, "home:8020")
	named := map[string]string{"hadoop.security.token.service.use_ip": "false"}
	open := map[string]string{"hadoop.security.authentication": "simple"}
	for _, c := range []struct {
		name  string
		conf  map[string]string
		found *creds.Credentials
		keeps bool
	}{
		{"none were handed on", open, creds.New(), false},
		{"they were handed on", named, handed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := secured(t, c.conf, c.found).grant(t.Context(), options(t), new(jobgraph.JobGraph), "hdfs://home:8020/user/alice")
			if err != nil {
				t.Fatal(err)
			}
			known := facts{id: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, grant: got}
			s := submissionContext(options(t), known, "words", records.ContainerLaunchContext{})
			if s.KeepTokens != c.keeps || s.ID != known.id {
				t.Errorf("%s is submitted, which keeps its tokens: %t, want %t", s.ID, s.KeepTokens, c.keeps)
			}
		})
	}
}
