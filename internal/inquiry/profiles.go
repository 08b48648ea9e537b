package inquiry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// profiler takes profiles of the process, one at a time, and keeps the last ones as files in the form of
// pprof. The files of a process that has ended are no concern of the next one.
type profiler struct {
	process   string // the beginning of the files' names
	dir       string
	processor *processor

	mu   sync.Mutex           // guards what follows
	kept []msg.ProfileDetails // the newest first; only the first one may still be taken
}

func (p *profiler) list() []msg.ProfileDetails {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.kept)
}

// modes are what takes a profile of each mode. It returns when the profile is written, or soon after ctx has
// ended.
var modes = map[msg.ProfileMode]func(ctx context.Context, p *processor, to io.Writer, d time.Duration) error{ //nolint:gochecknoglobals // a constant table
	msg.ProfileCPU:    profileCPU,
	msg.ProfileITimer: profileCPU,
	msg.ProfileAlloc:  profileHeap,
	msg.ProfileLock:   profileLocks,
}

// begin notes that a profile is taken. The work takes it.
func (p *profiler) begin(now time.Time, r msg.ProfileRequest) (begun []msg.ProfileDetails, work func(context.Context), err error) {
	take := modes[r.Mode]
	switch {
	case take == nil:
		return nil, nil, fmt.Errorf("%w: profiles of mode %.20q do not exist here: take one of %s, %s or %s",
			msg.ErrBadInquiry, string(r.Mode), msg.ProfileCPU, msg.ProfileAlloc, msg.ProfileLock)
	case r.Duration <= 0 || r.Keep < 1:
		return nil, nil, fmt.Errorf("%w: a profile of %s, and %d are kept", msg.ErrBadInquiry, r.Duration, r.Keep)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) > 0 && p.kept[0].State == msg.ProfileRunning {
		return nil, nil, fmt.Errorf("%w since %s, for %s: take the next one after that", msg.ErrProfiling,
			p.kept[0].Triggered.UTC().Format(time.TimeOnly), p.kept[0].Duration)
	}
	old := p.forget(min(r.Keep, msg.MaxListed) - 1)
	one := msg.ProfileDetails{Mode: r.Mode, Duration: r.Duration, State: msg.ProfileRunning, Triggered: now}
	p.kept = slices.Insert(p.kept, 0, one)
	return []msg.ProfileDetails{one}, func(ctx context.Context) {
		p.remove(old) // not under the lock, and not in begin: the disk may not answer
		p.run(ctx, one, func(to io.Writer) error { return take(ctx, p.processor, to, one.Duration) })
	}, nil
}

// forget drops the oldest profiles, so that no more than the given number stay. It returns the names of their files.
func (p *profiler) forget(most int) (files []string) {
	for len(p.kept) > most {
		last := len(p.kept) - 1
		if name := p.kept[last].File; name != "" {
			files = append(files, name)
		}
		p.kept = p.kept[:last]
	}
	return files
}

// remove removes files of profiles. Those that stay go with the container.
func (p *profiler) remove(files []string) {
	for _, name := range files {
		_ = os.Remove(filepath.Join(p.dir, name))
	}
}

// run takes a profile into a file.
func (p *profiler) run(ctx context.Context, one msg.ProfileDetails, take func(io.Writer) error) {
	name, err := p.write(one, take)
	one.State, one.Message, one.File = msg.ProfileFinished, "Profiling Successful", name // Flink's text
	if err != nil {
		one.State, one.Message, one.File = msg.ProfileFailed, msg.NoAnswer(err).Reason, ""
	}
	one.Finished = sched.Now(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[0] = one // no other begins while this one runs
}

// write makes a profile's file, and returns its name. A folder that cannot be written ends it at once. The profile itself
// goes to memory first, so that a disk that does not answer holds up no other use of the processor's profile.
func (p *profiler) write(one msg.ProfileDetails, take func(io.Writer) error) (name string, err error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", fmt.Errorf("make folder of profiles: %w", err)
	}
	base := fmt.Sprintf("%s_%s_%s", p.process, one.Mode, one.Triggered.UTC().Format("2006-01-02_15_04_05"))
	name = base + ".pprof"
	var file *os.File
	for n := 2; ; n++ {
		file, err = os.OpenFile(filepath.Join(p.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, os.ErrExist) || n > msg.MaxListed {
			break
		}
		name = fmt.Sprintf("%s_%d.pprof", base, n) // the second one within a second
	}
	if err != nil {
		return "", fmt.Errorf("make file of profile: %w", err)
	}
	var profile bytes.Buffer
	if err = take(&profile); err == nil {
		_, err = file.Write(profile.Bytes())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("take profile: %w", err), os.Remove(file.Name()))
	}
	return name, nil
}

// part reads a part of a finished profile.
func (p *profiler) part(name string, part msg.Part) (msg.InquiryAnswer, error) {
	if name == "" || !slices.ContainsFunc(p.list(), func(d msg.ProfileDetails) bool { return d.File == name }) {
		return msg.InquiryAnswer{}, fmt.Errorf("%w: the process has no profile %.200q", msg.ErrNotShown, name)
	}
	file, err := os.Open(filepath.Join(p.dir, name))
	if err != nil { // it was removed since
		return msg.InquiryAnswer{}, fmt.Errorf("%w: open profile: %w", msg.ErrNotShown, err)
	}
	defer file.Close()
	return read(file, part)
}

func profileCPU(ctx context.Context, p *processor, to io.Writer, d time.Duration) error {
	return p.profile(ctx, to, d)
}

// profileHeap shows the heap at the end of the time, after a collection.
func profileHeap(ctx context.Context, _ *processor, to io.Writer, d time.Duration) error {
	if err := sched.Sleep(ctx, d); err != nil {
		return err
	}
	runtime.GC()
	return pprof.Lookup("heap").WriteTo(to, 0)
}

// lockFraction is the part of the waits for locks that are looked at: one of so many.
const lockFraction = 10

// profileLocks shows waits for locks, those of earlier profiles of this mode among them.
func profileLocks(ctx context.Context, _ *processor, to io.Writer, d time.Duration) error {
	before := runtime.SetMutexProfileFraction(lockFraction)
	err := sched.Sleep(ctx, d)
	runtime.SetMutexProfileFraction(before)
	if err != nil {
		return err
	}
	return pprof.Lookup("mutex").WriteTo(to, 0)
}
