package operator_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

func TestPermanentMarksAnErrorAndKeepsIt(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("subtask 3: %w", operator.Permanent(fmt.Errorf("read /in: %w", io.ErrUnexpectedEOF)))
	if !errors.Is(err, operator.ErrPermanent) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v is not both permanent and its cause", err)
	}
	if got, want := err.Error(), "subtask 3: read /in: unexpected EOF"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if errors.Is(io.ErrUnexpectedEOF, operator.ErrPermanent) || operator.Permanent(nil) != nil {
		t.Error("an error that was not marked is permanent")
	}
}

// If a quota were not permanent, the job would need four attempts and minutes to report it. If the loss of a DataNode
// were permanent, its restart would fail the job.
func TestAFileSystemsLastWordIsPermanent(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		filesystem.ErrQuota: true, fs.ErrPermission: true, filesystem.ErrEncryptionZone: true, filesystem.ErrErasureCoded: true,
		fs.ErrExist: false, io.ErrUnexpectedEOF: false, filesystem.ErrNotEmpty: false,
	} {
		got := operator.OfFiles(fmt.Errorf("write /out: %w", err))
		if errors.Is(got, operator.ErrPermanent) != want || !errors.Is(got, err) {
			t.Errorf("%v is permanent: %t", err, !want)
		}
	}
	if operator.OfFiles(nil) != nil {
		t.Error("no error is one")
	}
}
