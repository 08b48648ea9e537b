package bobbintest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Waiting waits until REST says that the first job waits for a reason, and returns what it says of that.
func (m *Master) Waiting(t testing.TB, reason msg.WaitReason) restapi.WaitFor {
	t.Helper()
	return m.waiting(t, reason, func() (string, error) {
		var jobs restapi.JobIDsWithStatus
		if err := m.Get(t.Context(), "/jobs", &jobs); err != nil || len(jobs.Jobs) == 0 {
			return "", err
		}
		return string(jobs.Jobs[0].ID), nil
	})
}

// WaitingOf is Waiting for a job.
func (m *Master) WaitingOf(t testing.TB, job string, reason msg.WaitReason) restapi.WaitFor {
	t.Helper()
	return m.waiting(t, reason, func() (string, error) { return job, nil })
}

func (m *Master) waiting(t testing.TB, reason msg.WaitReason, of func() (job string, err error)) (found restapi.WaitFor) {
	t.Helper()
	var told restapi.JobWaiting
	wait.For(t, fmt.Sprintf("REST says that the job waits for %s", reason), func() (bool, error) {
		job, err := of()
		if err != nil || job == "" {
			return false, err
		}
		if err := m.Get(t.Context(), "/jobs/"+job+"/waiting", &told); err != nil {
			return false, err
		}
		at := slices.IndexFunc(told.Reasons, func(w restapi.WaitFor) bool { return w.Reason == reason })
		if at < 0 {
			return false, nil
		}
		found = told.Reasons[at]
		return true, nil
	})
	t.Logf("the job waits since %d: %s", told.Since, told.Words)
	return found
}

// Start waits until the time line of a start names all of these spans. It is the start of the ApplicationMaster or of a
// job: path is the answer's.
func (m *Master) Start(t testing.TB, path string, names ...string) {
	t.Helper()
	var spans []restapi.Span
	wait.Satisfied(t, "the whole time line of "+path, func() error {
		spans = nil
		if err := m.Get(t.Context(), path, &spans); err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(spans, func(s restapi.Span) bool { return s.Name == name }) {
				return fmt.Errorf("it lacks %q: %+v", name, spans)
			}
		}
		return nil
	})
	for _, s := range spans {
		took := int64(-1)
		if s.End != nil {
			if took = *s.End - s.Begin; took < 0 {
				t.Errorf("%s ends before it begins: %+v", s.Name, s)
			}
		}
		t.Logf("%s: %s took %d ms: %s", path, s.Name, took, s.Detail)
	}
}
