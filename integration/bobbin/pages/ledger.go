package pages

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// started is an application that a page's reader has started, with its jobs that REST lists.
type started struct {
	cluster.RMApp
	jobs []job
}

// job is a job in the output of `bobbin list -o json`.
type job struct {
	ID     string `json:"job"`
	Name   string `json:"name"`
	Status string `json:"jobStatus"`
}

func (a started) ended() bool {
	return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED"
}

// ledger records the results of a page's applications, block by block, because the exit code of a command says little
// about the application that it has started.
type ledger struct {
	last   []started       // the applications at the last look
	fails  map[string]bool // by id: the block that started the application has failsMark
	failed map[string]bool // by id: the application or one of its jobs has failed
	ends   bool            // a block has ended something
	marks  int
}

// look records the applications after a block.
func (l *ledger) look(b block, apps []started) error {
	if l.fails == nil {
		l.fails, l.failed = make(map[string]bool), make(map[string]bool)
	}
	if b.fails {
		l.marks++
	}
	l.ends = l.ends || b.endsSomething()
	l.last = apps
	var faults []error
	for _, app := range apps {
		if _, known := l.fails[app.ID]; !known {
			l.fails[app.ID] = b.fails
		}
		faults = append(faults, l.judge(app))
	}
	return errors.Join(faults...)
}

// judge returns the errors of an application.
func (l *ledger) judge(app started) error {
	var faults []error
	if app.ended() {
		faults = append(faults, l.allow(app.ID, app.FinalStatus, fmt.Sprintf("application %s (%s) is %s, %s: %s", app.ID, app.Name, app.State, app.FinalStatus, app.Diagnostics)))
	}
	for _, j := range app.jobs {
		faults = append(faults, l.allow(app.ID, j.Status, fmt.Sprintf("job %s (%s) of %s is %s", j.ID, j.Name, app.ID, j.Status)))
	}
	return errors.Join(faults...)
}

// allow returns an error for the outcome of an application or job, unless the page shows this outcome.
func (l *ledger) allow(application, outcome, told string) error {
	switch outcome {
	case "FAILED", "FAILING":
		l.failed[application] = true
		if l.fails[application] {
			return nil
		}
	case "KILLED", "CANCELED", "CANCELLING":
		if l.ends {
			return nil
		}
	case "UNDEFINED": // an ended application should not have this status
	default: // SUCCEEDED, FINISHED, or not ended yet
		return nil
	}
	return fmt.Errorf("%s; if the page shows this failure, put %s above the block", told, failsMark)
}

// close returns the errors at the page's end.
func (l *ledger) close() error {
	var faults []error
	for _, app := range l.last {
		if !app.ended() {
			faults = append(faults, fmt.Errorf("application %s (%s) still runs: %s", app.ID, app.Name, app.State))
		}
	}
	if l.marks > 0 && len(l.failed) == 0 {
		faults = append(faults, fmt.Errorf("%s is on the page, but nothing has failed", failsMark))
	}
	return errors.Join(faults...)
}
