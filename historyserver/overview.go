package historyserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

const (
	// maxOverview bounds the entry of a job in the list of jobs, in bytes.
	maxOverview = 4 << 10
	// maxList bounds the list with the entry, in bytes. A list of nothing but commas would take many times its size in memory.
	maxList = 1 << 20
	// maxName bounds the name of a job in an entry that is too large, in bytes.
	maxName = 256
)

// overview is a job in the list of jobs.
type overview struct {
	job  restapi.JobOverview
	text json.RawMessage // as the archive has it
}

// overviewOf reads the list with one job that the archive of a job has. Error: errBroken.
func overviewOf(text []byte, job ids.JobID) (overview, error) {
	var list struct {
		Jobs []json.RawMessage `json:"jobs"`
	}
	var o overview
	err := errTooLarge
	if len(text) <= maxList {
		err = json.Unmarshal(text, &list)
	}
	if err == nil && len(list.Jobs) != 1 {
		err = fmt.Errorf("it lists %d jobs", len(list.Jobs))
	}
	if err == nil {
		err = json.Unmarshal(list.Jobs[0], &o.job)
	}
	if err == nil && o.job.ID != job {
		err = fmt.Errorf("it is about job %.40q", o.job.ID)
	}
	if err != nil {
		return overview{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	o.text = bytes.Clone(list.Jobs[0])
	if len(o.text) > maxOverview {
		o.job = restapi.JobOverview{
			ID: job, Name: strings.ToValidUTF8(o.job.Name[:min(len(o.job.Name), maxName)], ""), StartTime: o.job.StartTime, EndTime: o.job.EndTime,
			Duration: o.job.Duration, State: o.job.State[:min(len(o.job.State), maxName)], LastModification: o.job.LastModification,
			Tasks: map[string]int{"total": o.job.Tasks["total"]},
		}
		o.text, err = json.Marshal(o.job)
	}
	o.job.Tasks = nil // only the text has them
	return o, err
}
