// Package ids has the ids in messages between roles. Each kind of id is a type of its own,
// comparable and printable, so that the compiler prevents mistakes. Shells and Sequence make ids. A
// core never makes them from a clock or a random source.
package ids

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// Ids of jobs, workers and slots.
type (
	// JobID identifies a job: 32 lower-case hex digits, as Flink prints it.
	JobID string
	// ResourceID identifies a worker: its YARN container id, with "-uber-N" behind it if the
	// container is the ApplicationMaster's; or "local-N".
	ResourceID string
	// InstanceID identifies one registration of a worker at the
	// ResourceManager. A worker that registers again gets a new one.
	InstanceID string
	// AllocationID identifies one grant of a slot to a job.
	AllocationID string
	// HostID identifies one start of a task host: see NewHostID. A host that is started again has a
	// new one.
	HostID string
)

// Fencing tokens: each grant of leadership to a role has one. The receiver drops a message with
// another token than its own.
type (
	// ResourceManagerID is a grant to a ResourceManager.
	ResourceManagerID string
	// JobMasterID is a grant to a JobMaster.
	JobMasterID string
)

// SlotID identifies a slot of a worker.
type SlotID struct {
	Resource ResourceID
	Index    int // from 0
}

func (s SlotID) String() string { return fmt.Sprintf("%s_%d", s.Resource, s.Index) }

// ExecutionAttemptID identifies one attempt to run one subtask of a vertex. No two attempts of a job
// have the same id, also if several masters run the job one after the other.
type ExecutionAttemptID struct {
	_       struct{} `cbor:",toarray"` // in messages, which have many of them
	Epoch   Epoch    // of the JobMaster
	Vertex  int      // index of the vertex in the JobGraph
	Subtask int      // from 0
	Attempt int      // from 0 in each epoch
}

// String returns a form that is valid in a path: "e1-v2-s0-a1".
func (e ExecutionAttemptID) String() string {
	return fmt.Sprintf("e%d-v%d-s%d-a%d", e.Epoch, e.Vertex, e.Subtask, e.Attempt)
}

// Compare orders attempts: those of an earlier JobMaster come first, then by vertex, subtask and attempt.
func (e ExecutionAttemptID) Compare(other ExecutionAttemptID) int {
	return cmp.Or(cmp.Compare(e.Epoch, other.Epoch), cmp.Compare(e.Vertex, other.Vertex), cmp.Compare(e.Subtask, other.Subtask), cmp.Compare(e.Attempt, other.Attempt))
}

// ParseExecutionAttemptID reads the form of String. It reports whether the text has this form.
func ParseExecutionAttemptID(text string) (e ExecutionAttemptID, is bool) {
	_, err := fmt.Sscanf(text, "e%d-v%d-s%d-a%d", &e.Epoch, &e.Vertex, &e.Subtask, &e.Attempt)
	return e, err == nil && e.String() == text
}

// PartitionID names one output of one execution.
type PartitionID struct {
	_         struct{} `cbor:",toarray"`
	Execution ExecutionAttemptID
	Output    int // of the task
}

// String returns a form that is valid in a path: "e1-v2-s0-a1-o0".
func (p PartitionID) String() string { return fmt.Sprintf("%s-o%d", p.Execution, p.Output) }

// PartitionHost is the host id under which a worker serves the finished partitions of its task hosts. No task host has it.
func PartitionHost(worker ResourceID) HostID { return HostID(fmt.Sprintf("%s-partitions", worker)) }

// NewHostID makes the id of the n-th host that a worker starts: "<worker>-<n>". Workers of one
// application have ids that differ in few characters. So a list of many hosts compresses well, which
// an id with random digits would prevent.
func NewHostID(worker ResourceID, n int) HostID {
	return HostID(fmt.Sprintf("%s-%d", worker, n))
}

// Random returns 32 hex digits from the system's random source, for shells.
func Random() string { return Source{}.Random() }

// Source makes random ids and seeds for shells. Its zero value reads the system's random source.
type Source struct {
	// Reader is another source, such as a simulation's. It must not fail.
	Reader io.Reader
}

// Random returns 32 hex digits.
func (s Source) Random() string {
	var b [16]byte
	s.read(b[:])
	return hex.EncodeToString(b[:])
}

// Seed returns a seed for jitter.
func (s Source) Seed() uint64 {
	var b [8]byte
	s.read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

func (s Source) read(b []byte) {
	if s.Reader == nil {
		rand.Read(b) // never fails, by its documentation
		return
	}
	if _, err := io.ReadFull(s.Reader, b); err != nil {
		panic(fmt.Sprintf("source of ids: %v", err))
	}
}

// Sequence makes ids for a core. They are unique if the prefix is. The prefix comes from outside
// (Random) and the rest is a counter, so a replay of the same events gives the same ids. The zero
// value is not usable.
type Sequence struct {
	prefix string
	n      uint64
}

// NewSequence starts a sequence with a prefix of 16 hex digits or more. Only the first 16
// characters count.
func NewSequence(prefix string) Sequence {
	return Sequence{prefix: prefix[:min(len(prefix), 16)]}
}

// Next returns the next id: the prefix and 16 hex digits.
func (s *Sequence) Next() string {
	s.n++
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], s.n)
	return s.prefix + hex.EncodeToString(b[:])
}

// JobIDOf is the id of the n-th job, from 0, that the program of an application executes. A program that runs again gives its
// jobs the same ids.
func JobIDOf(application string, n int) JobID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s job %d", application, n))
	return JobID(hex.EncodeToString(sum[:16]))
}
