package extsort

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

// FuzzRecord takes any bytes for a record. It would catch a panic, and bytes that are
// neither in the key nor in the value.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("\x03keyvalue"))
	f.Add([]byte("\x00"))
	f.Add([]byte("\x04key"))
	f.Add([]byte{})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, record []byte) {
		var it item
		if !it.set(record) {
			return
		}
		if head := len(record) - len(it.key) - len(it.value); head < 1 || string(record[head:]) != string(it.key)+string(it.value) {
			t.Errorf("record %q: key %q, value %q", record, it.key, it.value)
		}
	})
}

// Catches a record without a key that gets into a result.
func TestARecordWithoutAKeyIsCorrupt(t *testing.T) {
	t.Parallel()
	w := spill.NewDirs(&spilltest.Disk{}, spill.S2, "/a").NewWriter()
	r, err := w.Write(func() error { return w.Append([]byte("\x04key")) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newMerge([]run{{Run: r}}).next(); !errors.Is(err, spill.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
