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
	// first is for mutants, which must be found once.
	first = flag.Bool("first", false, "end with the first broken rule")
)

// TestSchedules would catch a job that does not end, or that counts a split twice or never, whatever
// fails meanwhile.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seed > 0 {
		s := sim.Draw(*seed)
		r, err := s.Run(os.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		report(t, s, r)
		return
	}
	seeds := *runs
	if testing.Short() {
		seeds /= 5
	}
	for n := range seeds {
		s := sim.Draw(n + 1)
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		report(t, s, r)
		if *first && t.Failed() {
			return
		}
	}
}

func report(t *testing.T, s sim.Schedule, r sim.Result) {
	t.Helper()
	if r.Broken != nil {
		t.Errorf("seed %d breaks a rule after %d events and %v: %v\n%v", s.Seed, r.Events, r.Time, r.Broken, s)
	}
}

// TestARunIsRepeatable would catch a role whose behaviour depends on the order of a map, on the clock
// or on chance.
func TestARunIsRepeatable(t *testing.T) {
	t.Parallel()
	for n := range uint64(20) {
		var logs [2]bytes.Buffer
		for i := range logs {
			if _, err := sim.Draw(n + 1).Run(&logs[i]); err != nil {
				t.Fatal(err)
			}
		}
		a, b := bytes.Split(logs[0].Bytes(), []byte("\n")), bytes.Split(logs[1].Bytes(), []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Fatalf("seed %d differs in line %d:\n%s\n%s", n+1, i+1, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("seed %d gives %d lines and then %d", n+1, len(a), len(b))
		}
	}
}
