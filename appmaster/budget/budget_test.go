package budget

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func of(t *testing.T, mode launch.Mode, options config.Config) Shares {
	t.Helper()
	shares, err := Of(mode, options)
	if err != nil {
		t.Fatal(err)
	}
	return shares
}

// TestDriversFitBesideTheMaster would catch a container that YARN kills because its drivers take too much
// memory, and a driver that gets memory meant for the ApplicationMaster.
func TestDriversFitBesideTheMaster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode           launch.Mode
		size           string
		drivers        int
		master, driver int
	}{
		"a job":                   {launch.PerJob, "512m", 0, 409, 0},
		"an application":          {launch.Application, "512m", 1, 256, 127},
		"a session":               {launch.Session, "512m", 4, 256, 31},
		"a large session":         {launch.Session, "4g", 4, 2048, 255},
		"a small session, at all": {launch.Session, "256m", 1, 128, 24},
	} {
		options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.JobManagerProcessSize.Name(): test.size}})
		if err != nil {
			t.Fatal(err)
		}
		shares := of(t, test.mode, options)
		master, driver := int(shares.Heap>>20), int(shares.Program()>>20)
		if master != test.master || driver != test.driver {
			t.Errorf("%s: %d MB for the master and %d for a driver, want %d and %d", name, master, driver, test.master, test.driver)
		}
		if all, container := master+test.drivers*driver, options.Memory(config.JobManagerProcessSize).Megabytes(); all > container*80/100 {
			t.Errorf("%s: heaps of %d MB in a container of %d", name, all, container)
		}
	}
	for size, want := range map[string][2]int64{"256m": {51, 32}, "512m": {102, 64}, "4g": {819, 512}} {
		options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.JobManagerProcessSize.Name(): size}})
		if err != nil {
			t.Fatal(err)
		}
		shares := of(t, launch.Session, options)
		jobs, bodies := shares.Jobs, shares.Requests
		if got := [2]int64{jobs >> 20, bodies >> 20}; got != want {
			t.Errorf("%s: %d MiB for jobs and for bodies, want %d", size, got, want)
		}
		if all, heap := jobs+bodies+shares.Answers, int64(shares.Heap); all <= jobs+bodies || all > heap*7/10 {
			t.Errorf("%s: jobs, bodies and answers take %d of %d bytes", size, all, heap)
		}
		if alone := of(t, launch.PerJob, options).Jobs; alone <= jobs {
			t.Errorf("%s: a job alone has %d bytes, beside drivers %d", size, alone, jobs)
		}
	}
}

// TestAFailureHasOneSize would catch a JobMaster that keeps more failures than the Dispatcher counts when
// the job has ended: the two had estimates of their own, 192 and 128 bytes beside the texts.
func TestAFailureHasOneSize(t *testing.T) {
	t.Parallel()
	e := msg.ExceptionEntry{Failure: msg.Failure{Message: "m", Stack: "ss"}, Task: "ttt", Location: "llll"}
	without := EndedSize(&msg.JobDetails{})
	with := EndedSize(&msg.JobDetails{Exceptions: []msg.ExceptionEntry{e}, TaskFailures: []msg.ExceptionEntry{e}})
	if size := int64(SizeOfFailure(&e)); size != FailureSize+10 || with-without != 2*size {
		t.Errorf("two failures of %d bytes count as %d", size, with-without)
	}
}
