package sim_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	seed = flag.Uint64("seed", 0, "run only this seed, and print its transcript")
	runs = flag.Uint64("runs", 500, "run the seeds from 1 to this number")
)

// TestSchedules would catch a job that does not end, or that counts a split twice or never, whatever
// fails meanwhile.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seed > 0 {
		r, err := sim.Run(*seed, os.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		report(t, r)
		return
	}
	for n := range *runs {
		r, err := sim.Run(n+1, nil)
		if err != nil {
			t.Fatal(err)
		}
		report(t, r)
	}
}

func report(t *testing.T, r sim.Result) {
	t.Helper()
	if r.Err != nil {
		t.Errorf("seed %d breaks a rule after %d events and %v: %v\nfaults: %v", r.Seed, r.Events, r.Time, r.Err, r.Faults)
	}
}

// TestARunIsRepeatable would catch a role whose behaviour depends on the order of a map, on the clock
// or on chance.
func TestARunIsRepeatable(t *testing.T) {
	t.Parallel()
	for n := range uint64(20) {
		var first, second bytes.Buffer
		for _, log := range []*bytes.Buffer{&first, &second} {
			if _, err := sim.Run(n+1, log); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			a, b := bytes.Split(first.Bytes(), []byte("\n")), bytes.Split(second.Bytes(), []byte("\n"))
			for i := range min(len(a), len(b)) {
				if !bytes.Equal(a[i], b[i]) {
					t.Fatalf("seed %d differs in line %d:\n%s\n%s", n+1, i+1, a[i], b[i])
				}
			}
			t.Fatalf("seed %d gives %d lines and then %d", n+1, len(a), len(b))
		}
	}
}
