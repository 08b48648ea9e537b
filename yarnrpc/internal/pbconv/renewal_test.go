package pbconv

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The bytes are from Configuration#write of Hadoop 3.4.3, which writes
// "programmatically", compressed, as the source of each option. It would catch options
// that are split in the wrong places.
func TestOptionsForRenewalAreReadAsJavaWritesThem(t *testing.T) {
	const source = "00000001000000241f8b08000000000000ff2b28ca4f2f4acccd4d2cc94c4eccc9a904000b83193310000000"
	java, err := hex.DecodeString("02" +
		"206466732e6e616d656e6f64652e7270632d616464726573732e6661722e6e6e31" + "06683a38303230" + source +
		"106466732e6e616d657365727669636573" + "03666172" + source)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"dfs.nameservices": "far", "dfs.namenode.rpc-address.far.nn1": "h:8020"}
	if diff := cmp.Diff(want, renewalConf(java)); diff != "" {
		t.Error(diff)
	}
	ours, err := hex.DecodeString(strings.ReplaceAll(hex.EncodeToString(java), source, "ffffffff"))
	if diff := cmp.Diff(ours, renewalConfBytes(want)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for cut := range java {
		if got := renewalConf(java[:cut]); got != nil {
			t.Errorf("the first %d bytes are %v", cut, got)
		}
	}
}
