package archive

import (
	"fmt"

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

// draft is the name of an archive that is being written. Nobody reads it.
func (u unfinished) draft(of string) string {
	return fmt.Sprintf("%s/.%s.%d.%s-draft", u.dir, u.job, u.epoch, of)
}

// all are the names that are of no use when the job has ended.
func (u unfinished) all() []string {
	return []string{u.running(0), u.running(1), u.draft(ofRunning), u.draft(ofEnded)}
}

// A draft is the archive of a job that runs, or of one that has ended.
const (
	ofRunning = "running"
	ofEnded   = "ended"
)
