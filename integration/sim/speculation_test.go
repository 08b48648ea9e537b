package sim_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// TestSlowTasksHoldNoJob would catch a job that waits for a host until it is lost, or for a node that is slow, although another node has
// room. All times are virtual.
func TestSlowTasksHoldNoJob(t *testing.T) {
	t.Parallel()
	const heartbeatTimeout = 50 * time.Second
	took := func(s sim.Schedule) time.Duration {
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		report(t, s, r)
		return r.Time
	}
	normal := took(speculative())
	for _, f := range []sim.Fault{hung, slow, {At: hung.At, Kind: sim.HangHost}} {
		s := speculative(f)
		if with := took(s); with > normal+heartbeatTimeout/2 {
			t.Errorf("with the fault %v the job takes %v, and %v without it", f, with, normal)
		}
		s.Speculation = 0
		if without := took(s); without < normal+heartbeatTimeout/2 {
			t.Errorf("with the fault %v and one attempt of each task the job takes %v, so the fault shows nothing", f, without)
		}
	}
}

// TestAJobWithoutAnotherNodeKeepsItsOwn would catch a job that waits for another node for a slow task, and does not go on where it is.
func TestAJobWithoutAnotherNodeKeepsItsOwn(t *testing.T) {
	t.Parallel()
	s := named["slow tasks, and no other node"].Schedule
	var log bytes.Buffer
	r, err := s.Run(&log)
	if err != nil {
		t.Fatal(err)
	}
	report(t, s, r)
	if !bytes.Contains(log.Bytes(), []byte("task is slow, and gets another attempt")) || r.Time > s.Faults[0].Time+3*time.Minute {
		t.Errorf("the job takes %v; facts are %v", r.Time, r.Facts)
	}
}
