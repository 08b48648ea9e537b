package conformance

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheRecordOfShortNamesIsHadoops would catch a record that is not Hadoop's. The unit test of hadoopconf's ShortNames
// believes this record. Where it is not what the cluster says, users are refused, or taken for others.
func TestTheRecordOfShortNamesIsHadoops(t *testing.T) {
	t.Parallel()
	const record = "../../../yarnrpc/hadoopconf/testdata/java/shortnames.txt"
	want, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	got := runJava(t, hadoopVersion(), nil, []string{
		"java.security.krb5.realm=EXAMPLE.COM", "java.security.krb5.kdc=127.0.0.1", // which nobody asks
	}, "testdata/ShortNames.java", record)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-record +Hadoop %s):\n%s", hadoopVersion(), diff)
	}
}
