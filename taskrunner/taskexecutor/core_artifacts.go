package taskexecutor

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// maxFileFetches is the number of cached files that this worker fetches at the same time, for all its
	// jobs. Each fetch holds up to 512 KiB, and a job may have jobgraph.MaxFiles. Each job may always fetch
	// one: so it does not wait for the files of others.
	maxFileFetches = 4
	// maxIdlePrograms and maxIdleBytes bound the fetched programs that are kept though no job here
	// needs them. The most recently used ones are kept.
	maxIdlePrograms = 4
	maxIdleBytes    = 256 * config.Mebibyte
	// A fetch without a valid delegation token is tried again when new tokens come, and after each tokensPause:
	// the file system may refuse a token only for a time. After maxRefused such failures the jobs fail. This
	// takes ten minutes. An ApplicationMaster whose tokens have ended tries each five minutes to get new ones.
	tokensPause = time.Minute
	maxRefused  = 11
)

// artifact is a program or a cached file that jobs on this worker use or have used. Jobs with the
// same program, or the same file, share one.
type artifact struct {
	key      artifactKey
	program  msg.Program // zero for a file
	state    artifactState
	path     string       // set when it is here
	id       copyID       // of its fetch; 0 if it was localized, or waits
	size     config.Bytes // if it was fetched
	failures int          // of fetches
	tokens   msg.Secret   // with which its fetch began
	// awaitsTokens says that its fetch has ended for want of a valid token. The next one waits for new tokens or
	// timerFetch.
	awaitsTokens bool
	refusals     int // fetches that ended so while the ResourceManager could give new tokens
}

// artifactKey tells artifacts apart: a program by its hash, a file by all except its name.
type artifactKey struct {
	sha256 string // of a program; "" for a file
	file   jobgraph.CachedFile
}

func fileKey(f jobgraph.CachedFile) artifactKey {
	f.Name = ""
	return artifactKey{file: f}
}

func (a *artifact) isFile() bool { return a.key.sha256 == "" }

type artifactState int

const (
	artifactLocalized artifactState = iota + 1 // it came with the container, and stays
	artifactWaiting                            // for the fetches of other files
	artifactFetching
	artifactCopied
)

// localized makes the artifacts of the programs that came with the container.
func localized(files map[string]string) map[artifactKey]*artifact {
	artifacts := make(map[artifactKey]*artifact, len(files))
	for sha256, file := range files { //bobbin:anyorder they go into a map
		key := artifactKey{sha256: sha256}
		artifacts[key] = &artifact{key: key, program: msg.Program{SHA256: sha256}, state: artifactLocalized, path: file}
	}
	return artifacts
}

// refuseProgram says why a program cannot run here, or "".
func (c *core) refuseProgram(ref msg.Program) string {
	if _, known := c.artifacts[artifactKey{sha256: ref.SHA256}]; known || ref.URI != "" {
		return ""
	}
	return fmt.Sprintf("program %s (SHA-256 %s) is not on this worker, and the slot request does not say where to fetch it", ref.Name, ref.SHA256)
}

// needProgram gives the program of a new job. It starts a fetch unless the program is here or being
// fetched.
func (c *core) needProgram(ref msg.Program) *artifact {
	a := c.need(artifactKey{sha256: ref.SHA256}, ref)
	if a.state == artifactWaiting {
		c.fetch(a)
	}
	c.idle = slices.DeleteFunc(c.idle, func(other *artifact) bool { return other == a })
	return a
}

// needFiles gives a job the files that its JobMaster names. The job's host is told the job when they
// are here.
func (c *core) needFiles(j *job) {
	if c.ending != nil {
		return
	}
	before := j.files
	j.files = nil
	for _, f := range j.settings.Job.Files {
		j.files = append(j.files, c.need(fileKey(f), msg.Program{}))
	}
	c.leaveFiles(before)
	c.fetchFiles(j)
}

// need gives an artifact. It waits for its fetch if it is new.
func (c *core) need(key artifactKey, program msg.Program) *artifact {
	a := c.artifacts[key]
	if a == nil {
		a = &artifact{key: key, program: program, state: artifactWaiting}
		c.artifacts[key] = a
	}
	return a
}

// fetchFiles starts fetches of a job's files, as many as the job may have now. The end of each fetch calls
// it for the next ones.
func (c *core) fetchFiles(j *job) {
	if c.ending != nil || j.unavailable != nil {
		return
	}
	free := max(maxFileFetches/len(c.jobs), 1)
	for _, a := range j.files {
		if a.state == artifactFetching {
			free--
		}
	}
	for _, a := range j.files {
		if a.state == artifactWaiting && free > 0 {
			c.fetch(a)
			free--
		}
	}
}

func (c *core) fetch(a *artifact) {
	c.lastCopy++
	a.id, a.state, a.tokens, a.awaitsTokens = c.lastCopy, artifactFetching, c.tokens, false
	c.fetching[a.id] = a
	if a.isFile() {
		c.emit(fetchFile{Copy: a.id, File: a.key.file})
	} else {
		c.emit(fetchProgram{Copy: a.id, Program: a.program})
	}
}

// awaited gives the artifact of a fetch that runs; nil: it was dropped meanwhile, or waits for tokens.
func (c *core) awaited(id copyID) *artifact {
	if a := c.fetching[id]; a != nil && !a.awaitsTokens {
		return a
	}
	return nil
}

func (c *core) fetched(e fetched) {
	a := c.awaited(e.Copy)
	if a == nil {
		return
	}
	delete(c.fetching, e.Copy)
	a.state, a.path, a.size = artifactCopied, e.File, e.Size
	for _, j := range c.jobsOf(a) {
		c.ensureHost(j)
		c.instructHost(j)
		c.fetchFiles(j)
	}
}

// dropFetches cancels all fetches.
func (c *core) dropFetches() {
	for _, id := range slices.Sorted(maps.Keys(c.fetching)) {
		c.dropArtifact(c.fetching[id])
	}
}

// fetchFailed tries again, FetchRetries times, because another DataNode or another disk may help.
// After that this worker cannot run hosts of the waiting jobs. If no worker can fetch the artifact,
// there is no second try, and the jobs fail. The same holds if no valid tokens come. The next job that needs the
// artifact starts a new fetch.
func (c *core) fetchFailed(e fetchFailed) {
	a := c.awaited(e.Copy)
	if a == nil {
		return
	}
	if e.NeedsTokens {
		if c.awaitTokens(a) {
			return
		}
		e.Permanent = true // all workers of the application have the same tokens
		e.Cause += fmt.Sprintf("; no valid delegation token has come after %d tries: the ApplicationMaster's log says why; if the application has no keytab (%s), submit it again",
			maxRefused, config.KerberosKeytab)
	}
	delete(c.fetching, e.Copy)
	a.failures++
	if a.failures <= c.config.FetchRetries && !e.Permanent {
		c.fetch(a)
		return
	}
	delete(c.artifacts, a.key)
	for _, j := range c.jobsOf(a) {
		if j.unavailable != nil { // for another reason already
			continue
		}
		text := fmt.Sprintf("task host of job %s cannot be started: %s", j.name(), e.Cause)
		lost := msg.HostLost{Failure: *msg.NewFailure(text, ""), Reason: msg.HostUnavailable}
		if e.Permanent { // the node is not at fault
			lost.Failure.Permanent, lost.Reason = true, msg.HostFailed
		}
		j.unavailable = &lost
		c.sendJobMaster(j, lost)
		c.stopHost(j, text) // a host may wait for a file
	}
}

// awaitTokens makes an artifact wait after a fetch that had no valid token, unless it has waited for too long. While
// there is no ResourceManager, which brings the tokens, the time for which the worker looks for one bounds the wait.
func (c *core) awaitTokens(a *artifact) bool {
	if c.rm.state == linkAdmitted {
		a.refusals++
	}
	switch {
	case a.refusals >= maxRefused:
		return false
	case bytes.Equal(a.tokens, c.tokens):
		a.awaitsTokens = true
		c.set(timer{Kind: timerFetch, Copy: a.id}, tokensPause)
	default: // newer ones came while it was fetched
		c.fetchAgain(a.id)
	}
	return true
}

// fetchRefused fetches the artifacts that wait for new tokens.
func (c *core) fetchRefused() {
	for _, id := range slices.Sorted(maps.Keys(c.fetching)) {
		if c.fetching[id].awaitsTokens {
			c.fetchAgain(id)
		}
	}
}

// fetchAgain replaces a fetch that has ended, unless its artifact was dropped meanwhile.
func (c *core) fetchAgain(id copyID) {
	if a := c.fetching[id]; a != nil {
		delete(c.fetching, id)
		c.fetch(a)
	}
}

// jobsOf gives the jobs that use an artifact, in the order of their ids.
func (c *core) jobsOf(a *artifact) []*job {
	var jobs []*job
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[id]; j.program == a || slices.Contains(j.files, a) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// waits tells whether a file of the job is not here yet.
func (j *job) waits() bool {
	return slices.ContainsFunc(j.files, func(a *artifact) bool { return a.state != artifactCopied })
}

// paths gives the places of a job's files by their names.
func (j *job) paths() map[string]string {
	if len(j.files) == 0 {
		return nil
	}
	paths := make(map[string]string, len(j.files))
	for i, a := range j.files {
		paths[j.settings.Job.Files[i].Name] = a.path
	}
	return paths
}

// leaveArtifacts handles that a job has no slot any more. A file goes with its last job. After its last job a
// fetched program is kept for a while, and a fetch is cancelled. If the program could not run as a
// host, it is removed, because its file may be damaged here.
func (c *core) leaveArtifacts(j *job) {
	a, files := j.program, j.files
	j.program, j.files = nil, nil
	c.leaveFiles(files)
	switch {
	case a == nil:
		return
	case a.state == artifactLocalized, c.artifacts[a.key] != a, len(c.jobsOf(a)) > 0:
		return
	case a.state == artifactFetching, j.unavailable != nil, a.size > maxIdleBytes:
		c.dropArtifact(a)
		return
	}
	c.idle = append(c.idle, a)
	for len(c.idle) > maxIdlePrograms || c.idleBytes() > maxIdleBytes {
		oldest := c.idle[0]
		c.idle = slices.Delete(c.idle, 0, 1)
		c.dropArtifact(oldest)
	}
}

// leaveFiles drops those of the files that no job uses.
func (c *core) leaveFiles(files []*artifact) {
	for _, a := range files {
		if c.artifacts[a.key] == a && len(c.jobsOf(a)) == 0 {
			c.dropArtifact(a)
		}
	}
}

func (c *core) idleBytes() config.Bytes {
	var total config.Bytes
	for _, a := range c.idle {
		total += a.size
	}
	return total
}

func (c *core) dropArtifact(a *artifact) {
	delete(c.artifacts, a.key)
	if a.state == artifactWaiting {
		return
	}
	delete(c.fetching, a.id)
	c.emit(dropCopy{a.id})
}
