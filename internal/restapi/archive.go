package restapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// RunningArchive is the name of the archive of a job that runs, beside the archives of jobs that have ended, whose names are
// their jobs' ids. Flink's HistoryServer takes no notice of a name that is no id.
type RunningArchive struct {
	Job ids.JobID
	// Epoch is that of the master that has written it. The archive of the latest master is the newest, whenever it was
	// written.
	Epoch int
	Turn  int // 0 or 1; the later one is the newer
}

// String is the name of the file.
func (a RunningArchive) String() string {
	return fmt.Sprintf(".%s.%d.running-%d", a.Job, a.Epoch, a.Turn)
}

// ParseRunningArchive reads a name of String.
func ParseRunningArchive(name string) (a RunningArchive, is bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return a, false
	}
	epoch, err := strconv.Atoi(parts[2])
	a = RunningArchive{Job: ids.JobID(parts[1]), Epoch: epoch}
	if parts[3] == "running-1" {
		a.Turn = 1
	}
	return a, err == nil && epoch >= 0 && IsJobID(parts[1]) && a.String() == name
}

// ArchiveDraft is the name of an archive that is being written. Nobody reads it.
type ArchiveDraft struct {
	Job   ids.JobID
	Epoch int // of the master that writes it
	Ended bool
}

// String is the name of the file.
func (d ArchiveDraft) String() string {
	of := "running"
	if d.Ended {
		of = "ended"
	}
	return fmt.Sprintf(".%s.%d.%s-draft", d.Job, d.Epoch, of)
}

// ParseArchiveDraft reads a name of String.
func ParseArchiveDraft(name string) (d ArchiveDraft, is bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 {
		return d, false
	}
	epoch, err := strconv.Atoi(parts[2])
	d = ArchiveDraft{Job: ids.JobID(parts[1]), Epoch: epoch, Ended: parts[3] == "ended-draft"}
	return d, err == nil && epoch >= 0 && IsJobID(parts[1]) && d.String() == name
}

// IsJobID reports whether a text has the form of a job's id.
func IsJobID(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}
