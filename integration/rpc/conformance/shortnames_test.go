package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// TestTheRecordOfShortNamesIsHadoops would catch a record that is not Hadoop's. The unit test of hadoopconf's ShortNames believes this record. Where it is not what
// the cluster says, users are refused, or taken for others.
func TestTheRecordOfShortNamesIsHadoops(t *testing.T) {
	t.Parallel()
	const record = "../../../yarnrpc/hadoopconf/testdata/java/shortnames.txt"
	want, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	jars, err := artifacts.Fetch(t.Context(), os.Getenv(cluster.VersionVariable))
	if err != nil {
		t.Fatal(err)
	}
	java, err := artifacts.FindJava()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), java,
		"-Djava.security.krb5.realm=EXAMPLE.COM", "-Djava.security.krb5.kdc=127.0.0.1", // which nobody asks
		"-cp", jars.Classpath(), "testdata/ShortNames.java", record)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("ShortNames.java: %v\n%s", err, stderr.Bytes())
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-record +Hadoop %s):\n%s", jars.Version, diff)
	}
}
