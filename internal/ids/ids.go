// Package ids names the things that roles tell each other about. Each id is a
// type of its own, comparable and printable, so that the compiler keeps them
// apart. Ids are made by shells and by Sequence, never by a core from a clock
// or a random source.
package ids

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Ids of jobs, workers and slots.
type (
	// JobID identifies a job: 32 lower-case hex digits, as Flink prints it.
	JobID string
	// ResourceID identifies a worker: its YARN container id, or "local-N".
	ResourceID string
	// InstanceID identifies one registration of a worker at the
	// ResourceManager; a worker that registers again gets another.
	InstanceID string
	// AllocationID identifies one grant of a slot to a job.
	AllocationID string
	// HostID identifies one start of a task host: a host that died and was
	// started again has another.
	HostID string
)

// Fencing tokens: one for each grant of leadership of a role. A message that
// carries another than the receiver's own is dropped.
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

// ExecutionAttemptID identifies one attempt to run one subtask of a vertex.
type ExecutionAttemptID struct {
	Vertex  int // index of the vertex in the JobGraph
	Subtask int // from 0
	Attempt int // from 0
}

// String gives a form that may stand in a path: "v2-s0-a1".
func (e ExecutionAttemptID) String() string {
	return fmt.Sprintf("v%d-s%d-a%d", e.Vertex, e.Subtask, e.Attempt)
}

// Random gives 32 hex digits from the system's random source, for shells.
func Random() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:])
}

// Sequence gives a core ids that are unique as long as its prefix is: the
// prefix comes from outside (Random), the rest is counted, so that a replay of
// the same events gives the same ids. The zero value is not useful.
type Sequence struct {
	prefix string
	n      uint64
}

// NewSequence starts a sequence under a prefix of 16 hex digits or more; only
// the first 16 characters count.
func NewSequence(prefix string) Sequence {
	return Sequence{prefix: prefix[:min(len(prefix), 16)]}
}

// Next gives the next id: the prefix and 16 hex digits.
func (s *Sequence) Next() string {
	s.n++
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], s.n)
	return s.prefix + hex.EncodeToString(b[:])
}
