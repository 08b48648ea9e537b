package slotmanager

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Demand is the slots that a job needs and has, for users who ask why it waits.
type Demand struct {
	Job      ids.JobID
	Declared int       // slots that it needs
	Least    int       // slots with which some part of it can run
	Held     int       // slots that it has, or that are granted to it
	Since    time.Time // since when it has fewer than it needs; zero: it has all
}

// Demands lists the jobs with requirements, in the order of their first declaration, as of the last
// Reconcile.
func (m *Manager) Demands() []Demand {
	demands := make([]Demand, len(m.jobs))
	for i, j := range m.jobs {
		demands[i] = Demand{Job: j.id, Declared: j.declared, Least: j.least, Held: m.held[j.id], Since: j.since}
	}
	return demands
}

// lacks notes whether a job has fewer slots than it needs.
func (j *job) lacks(some bool, now time.Time) {
	switch {
	case !some:
		j.since = time.Time{}
	case j.since.IsZero():
		j.since = now
	}
}

// Full is the option that allows no more workers than there are, with its value; "" if more may be requested.
func (m *Manager) Full() string {
	if m.config.Most != 0 && m.registered+len(m.expected) >= m.limit {
		return m.config.MostBy
	}
	return ""
}

// job finds a job with requirements, or gives nil.
func (m *Manager) job(id ids.JobID) *job {
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// forgive resets the count of refusals of a job.
func (m *Manager) forgive(id ids.JobID) {
	if j := m.job(id); j != nil {
		j.refusals = 0
	}
}

// reason says why a job cannot get enough slots to run any part of it, or "". asked is the number
// of workers to request beside the expected ones.
func (m *Manager) reason(j *job, asked int) string {
	if j.refusals >= refusalLimit && m.held[j.id] < j.least && !m.coming(j, asked) {
		return "workers refuse to give slots to the job: " + j.refusal
	}
	if limit := max(m.config.Most, 0) * m.config.SlotsPerWorker; m.config.Most != 0 && j.least > limit {
		return fmt.Sprintf("it needs at least %d slots, and %s allows %d; raise that option or lower the parallelism",
			j.least, m.config.MostBy, limit)
	}
	if m.refusal != "" && !m.suffices(j) {
		return m.refusal
	}
	return ""
}

// coming tells whether a worker may come that has not refused the job yet: an expected one, or one
// that is requested.
func (m *Manager) coming(j *job, asked int) bool {
	return asked > 0 && m.refusal == "" && !m.exhausted(j.id) ||
		slices.ContainsFunc(m.expected, func(w *worker) bool { return !m.blocks(j.id, w.id) })
}

// suffices tells whether the known and expected workers could serve some part of a job. It counts
// slots of other jobs, because these may become free. Of workers that the job blocks, it counts
// only the slots that the job holds.
func (m *Manager) suffices(j *job) bool {
	slots := 0
	//bobbin:anyorder slots are counted until there are enough
	for id, w := range m.workers {
		if slots >= j.least {
			break
		}
		if !m.blocks(j.id, id) {
			slots += m.config.SlotsPerWorker
			continue
		}
		for _, s := range w.slots {
			if s.state != free && s.job == j.id {
				slots++
			}
		}
	}
	return slots >= j.least
}
