package taskexecutor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// maxFetches is the number of failed fetches of a program in a row after which the waiting jobs
	// cannot have a host here. Each fetch already waits minutes for a file system that does not
	// answer.
	maxFetches = 2
	// maxIdlePrograms and maxIdleBytes bound the fetched programs that are kept though no job here
	// needs them. The most recently used ones are kept.
	maxIdlePrograms = 4
	maxIdleBytes    = 256 * config.Mebibyte
)

// heldProgram is a program that jobs on this worker run or have run.
type heldProgram struct {
	ref      msg.Program
	state    programState
	file     string       // set when it is here
	id       copyID       // of its fetch; 0 if it was localized
	size     config.Bytes // of a fetched program
	failures int          // of fetches, in a row
}

type programState int

const (
	programLocalized programState = iota + 1 // it came with the container, and stays
	programFetching
	programCopied
)

// localized makes the entries of the programs that came with the container.
func localized(files map[string]string) map[string]*heldProgram {
	programs := make(map[string]*heldProgram, len(files))
	for sha256, file := range files {
		programs[sha256] = &heldProgram{ref: msg.Program{SHA256: sha256}, state: programLocalized, file: file}
	}
	return programs
}

// refuseProgram says why a program cannot run here, or "".
func (c *core) refuseProgram(ref msg.Program) string {
	if _, known := c.programs[ref.SHA256]; known || ref.URI != "" {
		return ""
	}
	return fmt.Sprintf("program %s (SHA-256 %s) is not on this worker, and the slot request does not say where to fetch it", ref.Name, ref.SHA256)
}

// needProgram gives the program of a new job. It starts a fetch unless the program is here or being
// fetched.
func (c *core) needProgram(ref msg.Program) *heldProgram {
	p := c.programs[ref.SHA256]
	if p == nil {
		p = &heldProgram{ref: ref, state: programFetching}
		c.programs[ref.SHA256] = p
		c.fetch(p)
	}
	c.idle = slices.DeleteFunc(c.idle, func(other *heldProgram) bool { return other == p })
	return p
}

func (c *core) fetch(p *heldProgram) {
	c.lastCopy++
	p.id = c.lastCopy
	c.fetching[p.id] = p
	c.emit(fetchProgram{Copy: p.id, Program: p.ref, Tokens: c.tokens})
}

func (c *core) programFetched(e programFetched) {
	p := c.fetching[e.Copy]
	if p == nil {
		return // dropped meanwhile
	}
	delete(c.fetching, e.Copy)
	p.state, p.file, p.size = programCopied, e.File, e.Size
	for _, j := range c.jobsOf(p) {
		c.ensureHost(j)
	}
}

// dropFetches cancels all fetches.
func (c *core) dropFetches() {
	for _, id := range slices.Sorted(maps.Keys(c.fetching)) {
		c.dropProgram(c.fetching[id])
	}
}

// programFailed tries again once, because newer tokens or another DataNode may help. After that
// this worker cannot run hosts of the waiting jobs. The next job that needs the program starts a
// new fetch.
func (c *core) programFailed(e programFailed) {
	p := c.fetching[e.Copy]
	if p == nil {
		return
	}
	delete(c.fetching, e.Copy)
	p.failures++
	if p.failures < maxFetches {
		c.fetch(p)
		return
	}
	delete(c.programs, p.ref.SHA256)
	for _, j := range c.jobsOf(p) {
		text := fmt.Sprintf("task host of job %s cannot be started: %s", j.name(), e.Cause)
		lost := msg.HostLost{Failure: *msg.NewFailure(text, ""), Reason: msg.HostUnavailable}
		j.unavailable = &lost
		c.sendJobMaster(j, lost)
	}
}

// jobsOf gives the jobs that run a program, in the order of their ids.
func (c *core) jobsOf(p *heldProgram) []*job {
	var jobs []*job
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[id]; j.program == p {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// leaveProgram handles that a job is gone. After its last job a fetched program is kept for a
// while, and a fetch is cancelled. If the program could not run as a host, it is removed, because
// its file may be damaged here.
func (c *core) leaveProgram(j *job) {
	p := j.program
	switch {
	case p.state == programLocalized, c.programs[p.ref.SHA256] != p, len(c.jobsOf(p)) > 0:
		return
	case p.state == programFetching, j.unavailable != nil, p.size > maxIdleBytes:
		c.dropProgram(p)
		return
	}
	c.idle = append(c.idle, p)
	for len(c.idle) > maxIdlePrograms || c.idleBytes() > maxIdleBytes {
		oldest := c.idle[0]
		c.idle = slices.Delete(c.idle, 0, 1)
		c.dropProgram(oldest)
	}
}

func (c *core) idleBytes() config.Bytes {
	var total config.Bytes
	for _, p := range c.idle {
		total += p.size
	}
	return total
}

func (c *core) dropProgram(p *heldProgram) {
	delete(c.programs, p.ref.SHA256)
	delete(c.fetching, p.id)
	c.emit(dropProgram{p.id})
}
