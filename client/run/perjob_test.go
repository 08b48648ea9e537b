package run

import (
	"bytes"
	"strings"
	"testing"
)

// TestAJobHasEndedThoughYARNIsAway would catch a FINISHED job that becomes an error, and whose program is ended amid its
// work, since nobody answers whether the application has ended, too.
func TestAJobHasEndedThoughYARNIsAway(t *testing.T) {
	cluster := clusterOfTwo(t)
	var out bytes.Buffer
	job := targetOn(t, cluster, &out)
	submitted, err := job.submit(t.Context(), collecting())
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	defer withoutYARN(t, cluster)()
	if err := job.settle(t.Context()); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, submitted.application) || !strings.Contains(got, "bobbin gc") || strings.Count(got, "\n") != 1 {
		t.Errorf("printed %q", got)
	}
}
