package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// nothingIsLeft looks for processes after the end of all masters.
func nothingIsLeft(w *watch) {
	w.rest = append(w.rest, func() error {
		var left []error
		for _, m := range w.w.masters {
			if m.process.Alive() {
				left = append(left, fmt.Errorf("master %s runs", m.address()))
			}
		}
		for _, p := range w.w.runningPrograms() {
			left = append(left, fmt.Errorf("%s runs", p.process.Name))
		}
		for _, k := range w.w.runningWorkers() {
			left = append(left, fmt.Errorf("worker %s runs", k.id))
		}
		for _, h := range w.w.runningHosts() {
			left = append(left, fmt.Errorf("task host %s runs", h.id))
		}
		return errors.Join(left...)
	})
}

// applicationsSucceed asks YARN how each application has ended.
func applicationsSucceed(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, c := range w.w.clients {
			if c.excuses(c.fault) {
				continue
			}
			if c.fault != nil {
				return fmt.Errorf("client of %s: %w", c.name, c.fault)
			}
			if c.withdrawn() && c.report.FinalStatus == records.FinalKilled {
				continue
			}
			if c.report.FinalStatus != records.FinalSucceeded {
				return fmt.Errorf("%s is %s, %s: %s", c.name, c.report.State, c.report.FinalStatus, c.report.Diagnostics)
			}
		}
		return nil
	})
}

// stagedFilesAreRemoved looks for the staged files of applications of which a master has ended with success,
// while HDFS was there.
func stagedFilesAreRemoved(w *watch) {
	w.rest = append(w.rest, func() error {
		for _, m := range w.w.masters {
			if m.exit != records.ExitSuccess || m.ended.Before(w.w.hdfs.disturbed().Add(time.Minute)) {
				continue
			}
			left := "/user/alice/.bobbin/" + m.attempt.Application.String()
			if len(w.w.hdfs.space.Tree(w.w.engine.Now(), left)) > 0 {
				return fmt.Errorf("%s leaves %s", m.address(), left)
			}
		}
		return nil
	})
}
