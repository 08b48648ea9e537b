// Package inquiry answers questions about the process that it runs in: its log files, its goroutines, and
// profiles. ApplicationMaster, workers and task hosts have a Desk each.
//
// The package starts no goroutine, imports no role, and reads files only of two folders: that of the logs,
// and one for profiles. Names with which a question would leave a folder are not found.
package inquiry

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Desk answers questions about its process. Any goroutine may use it. Make it with New.
type Desk struct {
	logs     string        // folder; "": the process has no log files
	disk     chan struct{} // holds a token for each answer that reads files
	memory   chan struct{} // holds a token for each answer that reads none
	profiler profiler
	flames   flames
}

// New makes a Desk. process is the beginning of the names of profiles. The folder of profiles is made when
// the first one is taken.
func New(process, logs, profiles string) *Desk {
	p := newProcessor()
	return &Desk{
		logs: logs, disk: make(chan struct{}, maxAnswers), memory: make(chan struct{}, maxAnswers),
		profiler: profiler{process: filepath.Base(process), dir: profiles, processor: p}, flames: flames{processor: p},
	}
}

// maxAnswers bounds the questions that wait for the disk, and those that are answered from memory. If the disk does not answer,
// those who ask give up and ask again; meanwhile stacks and profiles can tell why.
const maxAnswers = 16

// errors of questions that find no place.
var (
	errDisk   = fmt.Errorf("%w: %d wait for the disk of the process", msg.ErrTooManyInquiries, maxAnswers)
	errMemory = fmt.Errorf("%w: the process answers %d", msg.ErrTooManyInquiries, maxAnswers)
)

// Answer answers a question: from memory, or as fast as the local disk. If too many of its kind are being answered, the answer is
// msg.ErrTooManyInquiries. If there is work to do after the answer, the caller runs it in a goroutine that waits: it returns when
// it is done, or soon after its context has ended.
func (d *Desk) Answer(ctx context.Context, q msg.Inquiry) (answer msg.InquiryAnswer, work func(context.Context)) {
	places, full := d.memory, errMemory
	if q.Topic.ReadsDisk() {
		places, full = d.disk, errDisk
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		return msg.NoAnswer(full), nil
	}
	var err error
	switch q.Topic {
	case msg.AboutLogs:
		answer.Files, err = list(d.logs)
	case msg.AboutLog:
		answer, err = logPart(d.logs, q.File, q.Part)
	case msg.AboutGoroutines:
		answer.Content = goroutines(msg.MaxGoroutines)
	case msg.AboutProfiles:
		answer.Profiles = d.profiler.list()
	case msg.AboutNewProfile:
		answer.Profiles, work, err = d.profiler.begin(sched.Now(ctx), q.Profile)
	case msg.AboutProfile:
		answer, err = d.profiler.part(q.File, q.Part)
	case msg.AboutFlames:
		answer, work, err = d.flames.answer(sched.Now(ctx), q.Profile)
	case msg.AboutHosts:
		err = fmt.Errorf("%w: this process has no task hosts", msg.ErrNotShown)
	default:
		err = fmt.Errorf("%w: a question about %.40q is unknown", msg.ErrBadInquiry, string(q.Topic))
	}
	if err != nil {
		return msg.NoAnswer(err), nil
	}
	return answer, work
}
