package historyserver

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Limits bound what the server keeps.
type Limits struct {
	Jobs    int   // the newest ones are shown
	Bytes   int64 // of their archives
	Archive int64 // of one archive; a larger one is not shown
	// Retained is how many archives stay in each directory: the server removes older ones there, except those of jobs that may
	// still run. 0: all.
	Retained int
	// Forget drops jobs whose archives are removed by others.
	Forget bool
}

// source is an archive in a directory.
type source struct {
	uri      string
	size     int64
	modified int64 // ms since 1970
	job      ids.JobID
	ended    bool // the job has ended
	left     bool // it has not, and no master has written about it for leftTime
	epoch    int  // of the master of a job that runs
}

// leftTime is how long the archive of a running job stays as it is until its masters count as dead. They write it each
// minute, unless HDFS is away.
const leftTime = 24 * time.Hour

// draftTime is how old a draft is when no master can be writing it any more. One takes 30 s at most.
const draftTime = 24 * time.Hour

// sourceOf reads the name of a file. Most other files are no archives.
func sourceOf(name string) (s source, is bool) {
	if restapi.IsJobID(name) {
		return source{job: ids.JobID(name), ended: true}, true
	}
	running, is := restapi.ParseRunningArchive(name)
	return source{job: running.Job, epoch: running.Epoch}, is
}

// knows compares what two archives know of a job. The end is the last thing that is known. Before that, a later master knows
// more than one that may have been frozen; for the same master the later file counts.
func (s source) knows(other source) int {
	rank := func(s source) int {
		if s.ended {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(s), rank(other)), cmp.Compare(s.epoch, other.epoch), cmp.Compare(s.modified, other.modified), cmp.Compare(s.uri, other.uri))
}

// older orders archives by their age, the newest first.
func older(a, b source) int {
	return cmp.Or(cmp.Compare(b.modified, a.modified), cmp.Compare(a.job, b.job), cmp.Compare(a.uri, b.uri))
}

// listing is the newest archives of one directory. Its size does not depend on the directory's.
type listing struct {
	limits Limits
	jobs   map[ids.JobID]source // the archive of each that knows most
	final  map[string]source    // that no master changes, by URI, if older ones are to be removed
	large  map[string]source    // archives that are too large, by URI; mostLarge at most
}

// mostLarge is how many archives that are too large are remembered of a directory, for the log.
const mostLarge = 100

func newListing(l Limits) *listing {
	return &listing{limits: l, jobs: make(map[ids.JobID]source), final: make(map[string]source), large: make(map[string]source)}
}

// add adds an archive. It returns archives that are to be removed from the directory, because newer ones are as many as may
// be retained.
func (l *listing) add(s source) (beyond []source) {
	known, is := l.jobs[s.job]
	switch {
	case s.size > l.limits.Archive:
		if len(l.large) < mostLarge {
			l.large[s.uri] = s
		}
	case !is || s.knows(known) > 0:
		l.jobs[s.job] = s
	}
	if most := l.limits.Jobs; len(l.jobs) > 2*most {
		for _, old := range slices.SortedFunc(maps.Values(l.jobs), older)[most:] {
			delete(l.jobs, old.job)
		}
	}
	if l.limits.Retained == 0 || !s.ended && !s.left {
		return nil
	}
	l.final[s.uri] = s
	if most := l.limits.Retained; len(l.final) > 2*most {
		return l.trim()
	}
	return nil
}

// trim returns the archives beyond those that may be retained.
func (l *listing) trim() []source {
	all := slices.SortedFunc(maps.Values(l.final), older)
	beyond := all[min(l.limits.Retained, len(all)):]
	for _, s := range beyond {
		delete(l.final, s.uri)
	}
	return beyond
}

// removed notes that the server has removed an archive from the directory.
func (l *listing) removed(s source) {
	delete(l.large, s.uri)
	if l.jobs[s.job].uri == s.uri {
		delete(l.jobs, s.job)
	}
}

// core is which archives the server has. Only its methods change it.
type core struct {
	limits Limits
	dirs   []*listing // the last one of each directory
	held   map[ids.JobID]held
	broken map[string]source // archives that cannot be shown, by URI
}

// held is a job whose archive is in the local folder.
type held struct {
	source   source
	overview overview
	removed  bool // the server has removed the archive from its directory
}

func newCore(l Limits, directories int) *core {
	return &core{limits: l, dirs: make([]*listing, directories), held: make(map[ids.JobID]held), broken: make(map[string]source)}
}

// plan is what a refresh has to do.
type plan struct {
	fetch    []source    // the newest first
	drop     []ids.JobID // from the local folder
	tooLarge []source    // that are new, for the log
}

// refresh takes over the directories' new listings. nil: the directory cannot be listed, and what was known of it stays.
func (c *core) refresh(listings []*listing) plan {
	var p plan
	for i, l := range listings {
		if l == nil {
			continue
		}
		for _, s := range slices.SortedFunc(maps.Values(l.large), older) {
			if before := c.dirs[i]; before == nil || before.large[s.uri] != s {
				p.tooLarge = append(p.tooLarge, s)
			}
		}
		c.dirs[i] = l
	}
	best := make(map[ids.JobID]source)
	for _, dir := range c.dirs {
		if dir == nil {
			continue
		}
		for job, s := range dir.jobs {
			if known, is := best[job]; !is || s.knows(known) > 0 {
				best[job] = s
			}
		}
	}
	if !c.limits.Forget {
		for job, h := range c.held {
			if _, is := best[job]; !is && !h.removed {
				best[job] = h.source
			}
		}
	}
	c.forgetBroken(best)
	left := c.limits.Bytes
	wanted := make(map[ids.JobID]bool)
	for _, s := range slices.SortedFunc(maps.Values(best), older) {
		if bad, is := c.broken[s.uri]; is && bad == s {
			continue
		}
		if left -= s.size; left < 0 || len(wanted) == c.limits.Jobs {
			break
		}
		wanted[s.job] = true
		if h, is := c.held[s.job]; !is || h.source != s {
			p.fetch = append(p.fetch, s)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(c.held)) {
		if !wanted[job] && !c.rests(job, best) {
			p.drop = append(p.drop, job)
			delete(c.held, job)
		}
	}
	return p
}

// rests reports whether a job stays as it was, because its new archive cannot be shown.
func (c *core) rests(job ids.JobID, best map[ids.JobID]source) bool {
	s, is := best[job]
	return is && c.broken[s.uri] == s
}

// forgetBroken forgets broken archives that are not there any more.
func (c *core) forgetBroken(best map[ids.JobID]source) {
	for uri, s := range c.broken {
		if best[s.job].uri != uri {
			delete(c.broken, uri)
		}
	}
}

// fetched notes that an archive is in the local folder.
func (c *core) fetched(s source, o overview) { c.held[s.job] = held{source: s, overview: o} }

// removed notes that the server has removed an archive from its directory. Its job goes with it, whatever Limits.Forget says.
func (c *core) removed(s source) {
	if h, is := c.held[s.job]; is && h.source.uri == s.uri {
		h.removed = true
		c.held[s.job] = h
	}
}

// failed notes that an archive is broken. It is not fetched again, unless it changes.
func (c *core) failed(s source) { c.broken[s.uri] = s }

// list returns the jobs, the newest first.
func (c *core) list() []overview {
	all := slices.SortedFunc(maps.Values(c.held), func(a, b held) int {
		return cmp.Or(cmp.Compare(b.overview.job.StartTime, a.overview.job.StartTime), cmp.Compare(a.source.job, b.source.job))
	})
	list := make([]overview, len(all))
	for i, h := range all {
		list[i] = h.overview
	}
	return list
}
