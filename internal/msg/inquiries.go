package msg

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Questions that users ask about processes: their logs, goroutines and profiles. REST asks the ApplicationMaster's own
// process directly. It asks a worker through the ResourceManager, and a task host through its worker.

// Inquire asks a worker or a task host about its process. Inquired answers.
type Inquire struct {
	// Number is that of the question among those of its sender. The answer repeats it.
	Number uint64
	// Host is the task host that a question to a worker is about; "": the worker's own process.
	Host    ids.HostID
	Inquiry Inquiry
}

// Inquired answers Inquire.
type Inquired struct {
	Number uint64
	Answer InquiryAnswer
}

func (Inquire) isMessage()  {}
func (Inquired) isMessage() {}

// Check refuses a question with texts that a message cannot have. Users choose them, and the receiver of a malformed message
// ends the connection. Error: ErrBadInquiry.
func (m Inquire) Check() error {
	for _, text := range [...]string{string(m.Host), m.Inquiry.File, string(m.Inquiry.Profile.Mode)} {
		if len(text) > maxInquiryText || !utf8.ValidString(text) {
			return fmt.Errorf("%w: %.200q is longer than %d bytes, or no UTF-8", ErrBadInquiry, text, maxInquiryText)
		}
	}
	return nil
}

// Topic is what an Inquiry is about.
type Topic string

// The topics, and the fields that they use.
const (
	AboutLogs       Topic = "logs"        // the files of the log directory: Files
	AboutLog        Topic = "log"         // a part of a log file; File, Part: File, Offset, Content
	AboutGoroutines Topic = "goroutines"  // the stacks of all goroutines: Content
	AboutProfiles   Topic = "profiles"    // the last profiles: Profiles
	AboutNewProfile Topic = "new profile" // takes a profile; Profile: Profiles, with this one alone
	AboutProfile    Topic = "profile"     // a part of the file of a profile; File, Part: File, Offset, Content
	AboutHosts      Topic = "hosts"       // the task hosts of a worker: Hosts
	AboutFlames     Topic = "flames"      // a flame graph; Profile.Mode, one of those of flame graphs, and Profile.Duration, the age from which it is made anew: Content, as package flame encodes it, or nothing while the first one is made
)

// ReadsDisk reports whether the answer is read from files. A disk may hang: what is answered from memory must not wait for that.
func (t Topic) ReadsDisk() bool { return t == AboutLogs || t == AboutLog || t == AboutProfile }

// Inquiry is a question about a process. The zero values of fields that its topic does not use are not sent.
type Inquiry struct {
	Topic   Topic
	File    string
	Part    Part
	Profile ProfileRequest
}

// Part is a part of a file.
type Part struct {
	// Offset is where the part begins, in bytes. Below 0 it counts from the end of the file. Beyond the end, the part
	// begins at the beginning: a log that has rotated is read on like this.
	Offset int64
	// Length is the most that the answer has, in bytes; at most MaxPart.
	Length int
	// ID is that of the file, of an earlier answer. If the file has another name now, because the log has rotated, it
	// is read under that name. 0: any file of the name.
	ID uint64
}

// ProfileRequest describes a profile to take.
type ProfileRequest struct {
	Mode     ProfileMode
	Duration time.Duration
	// Keep is the number of profiles that the process keeps, with this one.
	Keep int
}

// ProfileMode is what a profile measures: one of Flink's ProfilingMode.
type ProfileMode string

// The modes that exist here.
const (
	ProfileCPU    ProfileMode = "CPU"    // where the process spends processor time
	ProfileITimer ProfileMode = "ITIMER" // the same; Flink's default. Go's profile of the CPU uses such a timer
	ProfileAlloc  ProfileMode = "ALLOC"  // the heap: what is in use, and what was allocated
	ProfileLock   ProfileMode = "LOCK"   // how long goroutines wait for locks
)

// The modes of flame graphs. ProfileCPU, in ms, and ProfileAlloc, the heap in use in bytes, are those of a whole process.
// The others have the tasks of a task host on their first level, by the texts of their executions. They are Flink's.
const (
	FlameFull   ProfileMode = "FULL"    // where tasks are, whether they run or wait, in samples
	FlameOffCPU ProfileMode = "OFF_CPU" // where tasks wait, in samples
	FlameOnCPU  ProfileMode = "ON_CPU"  // where tasks spend processor time, in ms
)

// Bounds of an answer, so that neither a long log nor a dishonest process fills the memory of those who pass it on.
const (
	// MaxPart bounds a part of a file, in bytes.
	MaxPart = 64 << 10
	// MaxGoroutines bounds the stacks of a process, in bytes.
	MaxGoroutines = 512 << 10
	// MaxFlames bounds a flame graph, in bytes.
	MaxFlames = 256 << 10
	// MaxListed bounds the files, profiles and hosts of one answer.
	MaxListed = 200
	// maxInquiryText bounds a name or a text of an answer, in bytes.
	maxInquiryText = 1 << 10
)

// InquiryAnswer answers an Inquiry. Err says whether there is an answer.
type InquiryAnswer struct {
	Fault    InquiryFault
	Reason   string
	Files    []FileDetails
	File     FileDetails
	Offset   int64 // of Content in File
	Content  []byte
	Profiles []ProfileDetails // the newest first
	Hosts    []HostDetails
}

// FileDetails describes a file.
type FileDetails struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
	// ID is different for different files of one directory, whatever their names; 0: the system has no such number.
	ID uint64
}

// ProfileDetails describes a profile; Flink's ProfilingInfo.
type ProfileDetails struct {
	Mode      ProfileMode
	Duration  time.Duration
	State     ProfileState
	Triggered time.Time
	Finished  time.Time // zero while it runs
	Message   string    // why it failed, or that it did not
	File      string    // "" until it is finished
}

// ProfileState is the state of a profile; Flink's ProfilingStatus.
type ProfileState string

// The states.
const (
	ProfileRunning  ProfileState = "RUNNING"
	ProfileFinished ProfileState = "FINISHED"
	ProfileFailed   ProfileState = "FAILED"
)

// HostDetails is a task host of a worker.
type HostDetails struct {
	Host ids.HostID
	Job  ids.JobID
}

// InquiryFault is why an Inquiry has no answer.
type InquiryFault string

// The faults.
const (
	inquiryNotFound InquiryFault = "not found"
	inquiryBusy     InquiryFault = "busy"
	inquiryRefused  InquiryFault = "refused"
	inquirySilent   InquiryFault = "silent"
	inquiryCrowded  InquiryFault = "too many"
	inquiryFailed   InquiryFault = "failed"
)

// Errors of inquiries.
var (
	// ErrWorkerNotFound says that the cluster has no such worker.
	ErrWorkerNotFound = errors.New("no such worker")
	// ErrWorkerSilent says that a worker, or one of its task hosts, did not answer a question in time, or is lost.
	ErrWorkerSilent = errors.New("worker does not answer")
	// ErrTooManyInquiries says that too many questions wait for answers.
	ErrTooManyInquiries = errors.New("too many questions wait for workers' answers")
	// ErrNotShown says that a process has no such file, profile or task host.
	ErrNotShown = errors.New("not found")
	// ErrProfiling says that a profile of the process is being taken.
	ErrProfiling = errors.New("a profile is being taken")
	// ErrBadInquiry says that a process refuses a question.
	ErrBadInquiry = errors.New("refused")
	// errInquiry says that a process cannot answer a question.
	errInquiry = errors.New("cannot be answered")
)

// faults are the errors of faults. Others are errInquiry's.
var faults = []struct { //nolint:gochecknoglobals // a constant table
	fault InquiryFault
	err   error
}{
	{inquiryNotFound, ErrNotShown},
	{inquiryBusy, ErrProfiling},
	{inquiryRefused, ErrBadInquiry},
	{inquirySilent, ErrWorkerSilent},
	{inquiryCrowded, ErrTooManyInquiries},
	{inquiryFailed, errInquiry},
}

// NoAnswer makes the answer for an error.
func NoAnswer(err error) InquiryAnswer {
	a := InquiryAnswer{Fault: inquiryFailed, Reason: clip(err.Error(), maxInquiryText)}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			a.Fault = f.fault
			break
		}
	}
	return a
}

// Err says why there is no answer, or returns nil. The error wraps one of the errors of inquiries.
func (a InquiryAnswer) Err() error {
	if a.Fault == "" {
		return nil
	}
	for _, f := range faults {
		if f.fault == a.Fault {
			return &inquiryError{f.err, a.Reason}
		}
	}
	return &inquiryError{errInquiry, a.Reason}
}

// inquiryError has the text of the process that was asked, which names the error already.
type inquiryError struct {
	kind error
	text string
}

func (e *inquiryError) Error() string { return e.text }
func (e *inquiryError) Unwrap() error { return e.kind }

// errLargeAnswer says that an answer exceeds the bounds.
var errLargeAnswer = errors.New("the answer is larger than an honest one")

// Check refuses an answer from another process that no honest process sends.
func (a InquiryAnswer) Check(topic Topic) error {
	content := MaxPart
	switch topic {
	case AboutGoroutines:
		content = MaxGoroutines
	case AboutFlames:
		content = MaxFlames
	default:
	}
	texts := []string{a.Reason, a.File.Name}
	for _, f := range a.Files {
		texts = append(texts, f.Name)
	}
	for _, p := range a.Profiles {
		texts = append(texts, string(p.Mode), string(p.State), p.Message, p.File)
	}
	for _, h := range a.Hosts {
		texts = append(texts, string(h.Host), string(h.Job))
	}
	if len(a.Content) > content || len(a.Files) > MaxListed || len(a.Profiles) > MaxListed || len(a.Hosts) > MaxListed {
		return fmt.Errorf("%d bytes, %d files, %d profiles, %d hosts: %w", len(a.Content), len(a.Files), len(a.Profiles), len(a.Hosts), errLargeAnswer)
	}
	for _, text := range texts {
		if len(text) > maxInquiryText {
			return fmt.Errorf("a text of %d bytes: %w", len(text), errLargeAnswer)
		}
	}
	return nil
}
