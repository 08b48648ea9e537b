package spill_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

// Several appenders take records in turn, while some operations of the disk fail. It would catch a record that is lost, doubled or
// cut when its file moves to the next directory, a mix of two appenders in the shared memory, and files that are left.
func TestAppendersKeepTheirRecords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		disk := &spilltest.Disk{}
		faults := rapid.SampledFrom([]int{0, 1, 3, 1000}).Draw(t, "faults")
		first := rapid.IntRange(1, 40).Draw(t, "first fault")
		operations := 0
		lost := errors.New("input/output error")
		disk.Fault = func(operation, dir string) error {
			if operation != "write" && operation != "create" {
				return nil
			}
			if operations++; operations >= first && operations < first+faults {
				return fmt.Errorf("%s in %s: %w", operation, dir, lost)
			}
			return nil
		}
		shared := spill.NewDirs(disk, compression(t), "/a", "/b").NewAppenders()
		appenders := []*spill.Appender{shared.New(), shared.New(), shared.New()}
		want := make([][][]byte, len(appenders))
		err := func() error {
			for _, record := range records(t) {
				i := rapid.IntRange(0, len(appenders)-1).Draw(t, "appender")
				if err := appenders[i].Append(record[:len(record)/3], record[len(record)/3:]); err != nil {
					return err
				}
				want[i] = append(want[i], record)
			}
			for i, a := range appenders {
				runs, err := a.Finish()
				if err != nil {
					return err
				}
				defer func() {
					if err := runs.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}()
				if int(runs.Records()) != len(want[i]) {
					t.Fatalf("%d records, want %d", runs.Records(), len(want[i]))
				}
				for _, reader := range []*spill.RunsReader{runs.Open(), runs.Open()} {
					for n, record := range want[i] {
						got, err := reader.Next()
						if err != nil || !bytes.Equal(got, record) {
							t.Fatalf("record %d of appender %d is not the one written: %v", n, i, err)
						}
					}
					if _, err := reader.Next(); !errors.Is(err, io.EOF) {
						t.Fatalf("at the end: error %v", err)
					}
				}
			}
			return nil
		}()
		if err != nil && (faults == 0 || !errors.Is(err, spill.ErrWrite) || !errors.Is(err, lost)) {
			t.Fatalf("error %v", err)
		}
		for _, a := range appenders {
			if err := a.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if disk.Open() != 0 {
			t.Errorf("%d files are left", disk.Open())
		}
	})
}
