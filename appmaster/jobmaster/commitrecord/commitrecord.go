// Package commitrecord encodes what is stored of a region of a job before it gets leave to commit its output. From
// then on the region runs only its commit tasks, with the same winners, also under a later master. So a record holds
// everything about the other tasks that the job needs until its end.
//
// The package is plain data: no I/O, no clock, no goroutine, no lock.
package commitrecord

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

// ErrMalformed says that Decode was given bytes that are no record of this version.
var ErrMalformed = errors.New("malformed commit record")

// MaxBytes bounds an encoded record. It has room for what 15 results hold that no client reads (collect.MaxBuffered).
const MaxBytes = 256 << 20

// version is the version of the encoded form. Masters of one application are of one build, so there is no other.
const version = 2

// Record is what is stored of a region.
type Record struct {
	// Winners are what each commit task commits, by its vertex: see msg.CommitPrepared.
	Winners map[int][]string
	// Finished are the vertices with tasks that have finished, ascending. Those that commit are not among them.
	Finished []Finished
	// Regions are other regions of which the record has all tasks, ascending: they never run again after this commit.
	Regions []int `cbor:",omitempty"`
	// Waves says why all exchanges of the job are blocking, which decides the numbers of the regions. "": they are as planned.
	Waves string `cbor:",omitempty"`
	// Counters are the sums of these tasks, by vertex.
	Counters map[int]map[string]int64
	// Results are what these tasks have collected and no client has read, by name, as collect.Buffer encodes it.
	Results map[string][]byte
	// Committed says that the region has committed. It becomes known later, and is stored apart: see ha.Commit.
	Committed bool `cbor:"-"`
}

// Finished is what the tasks of a vertex have done in the regions.
type Finished struct {
	_      struct{} `cbor:",toarray"`
	Vertex int
	// Tasks are the tasks by subtask, as package subtasks encodes them.
	Tasks []byte
}

// stored is the encoded form.
type stored struct {
	Version int
	Record  Record
}

// The same record has the same bytes, whatever the order of its maps: it may be stored twice.
var encoding = func() cbor.EncMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode()
	if err != nil {
		panic(fmt.Sprintf("commitrecord: encoding options: %v", err))
	}
	return mode
}()

var decoding = func() cbor.DecMode { //nolint:gochecknoglobals // immutable after start
	mode, err := cbor.DecOptions{
		MaxArrayElements:  jobgraph.MaxParallelism,
		MaxMapPairs:       1 << 21, // counters: a name takes 64 bytes of the memory that a job has for them
		MaxNestedLevels:   8,
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode()
	if err != nil {
		panic(fmt.Sprintf("commitrecord: decoding options: %v", err))
	}
	return mode
}()

// Encode gives the bytes of a record. The error says that it is longer than MaxBytes.
func Encode(r Record) ([]byte, error) {
	data, err := encoding.Marshal(stored{Version: version, Record: r})
	if err != nil {
		return nil, fmt.Errorf("encode commit record: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("encode commit record: it has %d bytes, and may have %d MiB", len(data), MaxBytes>>20)
	}
	return data, nil
}

// Decode decodes a record that Encode wrote. It does not keep data. The error is ErrMalformed.
func Decode(data []byte) (Record, error) {
	if len(data) > MaxBytes {
		return Record{}, fmt.Errorf("%w: it has %d bytes", ErrMalformed, len(data))
	}
	var s stored
	if err := decoding.Unmarshal(data, &s); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if s.Version != version {
		return Record{}, fmt.Errorf("%w: version %d, this build writes %d", ErrMalformed, s.Version, version)
	}
	return s.Record, nil
}

// DecodeAll decodes what is stored of a job, by region, and removes from commits what is decoded: with collected results it
// may be large, and the caller's callers keep the map as long as the job runs. The error is ErrMalformed.
func DecodeAll(commits map[int]ha.Commit) (map[int]Record, error) {
	decoded := make(map[int]Record, len(commits))
	for region, commit := range commits {
		r, err := Decode(commit.Record)
		if err != nil {
			return nil, fmt.Errorf("region %d: %w", region, err)
		}
		r.Committed = commit.Finished
		decoded[region] = r
		delete(commits, region)
	}
	return decoded, nil
}

// Has reports whether the region has tasks of a vertex.
func (r Record) Has(vertex int) bool {
	_, commits := r.Winners[vertex]
	return commits || slices.ContainsFunc(r.Finished, func(f Finished) bool { return f.Vertex == vertex })
}
