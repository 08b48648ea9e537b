package cli

import (
	"strings"
	"testing"
)

// TestWhoGivesUpNamesTheOptionAsItWasSet would catch an error with a number of seconds that no option has, when
// the client gives up a ResourceManager, a NameNode, or a master that has never answered.
func TestWhoGivesUpNamesTheOptionAsItWasSet(t *testing.T) {
	env := map[string]string{"HADOOP_USER_NAME": "alice", "HADOOP_CONF_DIR": hadoopFiles(t, map[string]string{
		"core-site.xml": "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>",
		"yarn-site.xml": "<configuration><property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property></configuration>",
	})}
	for verb, server := range map[string]string{"applications": "ResourceManager", "gc": "NameNode"} {
		for _, text := range []string{"20 ms", "20ms", "20"} {
			code, _, stderr := command(t, env, verb, "-D", "client.timeout="+text)
			if told := " (client.timeout: " + text + "): "; code != ExitFailed || !strings.Contains(stderr, server) || !strings.Contains(stderr, told) {
				t.Errorf("%s: exit code %d, and %q is not in %q", verb, code, told, stderr)
			}
		}
	}
}
