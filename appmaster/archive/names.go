package archive

import (
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// ended is the name of the archive of a job that has ended, as Flink's.
func ended(dir string, job ids.JobID) string { return dir + "/" + string(job) }

// unfinished are the names of what a master writes beside it. Each master has its own.
type unfinished struct {
	dir   string
	job   ids.JobID
	epoch ids.Epoch
}

// running is one of the two archives of a job that runs. They take turns, because a file cannot be replaced: so there
// is always a whole one.
func (u unfinished) running(turn int) string {
	return u.dir + "/" + restapi.RunningArchive{Job: u.job, Epoch: int(u.epoch), Turn: turn % 2}.String()
}

// draft is the name of an archive that is being written: that of a job that runs, or of one that has ended.
func (u unfinished) draft(ended bool) string {
	return u.dir + "/" + restapi.ArchiveDraft{Job: u.job, Epoch: int(u.epoch), Ended: ended}.String()
}

// drafts are the names of both drafts.
func (u unfinished) drafts() []string { return []string{u.draft(false), u.draft(true)} }

// all are the names that are of no use when the job has ended.
func (u unfinished) all() []string { return append(u.drafts(), u.running(0), u.running(1)) }
