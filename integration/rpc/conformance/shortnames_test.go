package conformance

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheRecordOfShortNamesIsHadoops would catch a record that differs from Hadoop. The unit test of hadoopconf's
// ShortNames uses this record. If it is wrong, users are refused or get another user's name.
func TestTheRecordOfShortNamesIsHadoops(t *testing.T) {
	t.Parallel()
	const record = "../../../yarnrpc/hadoopconf/testdata/java/shortnames.txt"
	want, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	got := runJava(t, hadoopVersion(), nil, []string{
		"java.security.krb5.realm=EXAMPLE.COM", "java.security.krb5.kdc=127.0.0.1", // which no server reads
	}, "ShortNames", record)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-record +Hadoop %s):\n%s", hadoopVersion(), diff)
	}
}
