package main

import (
	"errors"
	"testing"
)

// TestSpilledResultsAreChecked would catch a job whose memory is small because it loses records.
func TestSpilledResultsAreChecked(t *testing.T) {
	for got, want := range map[int64]error{10484: nil, 10483: errOutputs, 10485: errOutputs, 0: errOutputs} { // of 1 MiB
		if err := checkSpilled(got, 1); !errors.Is(err, want) {
			t.Errorf("%d records: %v, want %v", got, err, want)
		}
	}
}
