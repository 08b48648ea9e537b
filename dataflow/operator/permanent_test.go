package operator_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

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
