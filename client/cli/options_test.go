package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// A property under the wrong name is one that Hadoop's code never looks at.
func TestOptionsForHadoopBecomeItsProperties(t *testing.T) {
	c, err := config.New(config.Layer{Source: "-D", Values: map[string]string{
		"flink.hadoop.dfs.replication":                             "1",
		"flink.yarn.resourcemanager.address":                       "rm:1",
		"flink.hadoop.yarn.client.nodemanager-connect.max-wait-ms": "5",
		"yarn.application.queue":                                   "a",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"dfs.replication":                             "1",
		"yarn.resourcemanager.address":                "rm:1",
		"yarn.client.nodemanager-connect.max-wait-ms": "5",
	}
	if diff := cmp.Diff(want, hadoopProperties(c)); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
