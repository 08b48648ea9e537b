package dispatcher

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// errMalformed says that what is stored of a job cannot be read.
var errMalformed = errors.New("what is stored of the job cannot be read")

const (
	// storedVersion is of both encodings below. The attempts of an application are of one build, so that another version is
	// an error.
	storedVersion = 1
	// maxSubmission bounds an encoded submission, in bytes. Its longest part is the URI of the program.
	maxSubmission = 64 << 10
)

// submissionText is a Submission without the graph, as it is stored.
type submissionText struct {
	Version       int           `json:"version"`
	Submitted     time.Time     `json:"submitted"`
	Detached      bool          `json:"detached,omitempty"`
	ClientTimeout time.Duration `json:"client-timeout,omitempty"` // in ns
	Program       programText   `json:"program"`
}

type programText struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	URI    string `json:"uri"`
}

func encodeSubmission(s Submission, at time.Time) ([]byte, error) {
	text, err := json.Marshal(submissionText{
		Version: storedVersion, Submitted: at, Detached: s.Detached, ClientTimeout: s.ClientTimeout, Program: programText(s.Program),
	})
	if err != nil {
		return nil, fmt.Errorf("encode how job %s was submitted: %w", s.Job, err)
	}
	return text, nil
}

// decodeSubmission reads an encoded submission, without the graph. Error: errMalformed.
func decodeSubmission(job ids.JobID, data []byte) (Submission, time.Time, error) {
	var text submissionText
	if len(data) > maxSubmission {
		return Submission{}, time.Time{}, fmt.Errorf("%w: its submission has %d bytes, at most are %d", errMalformed, len(data), maxSubmission)
	}
	err := json.Unmarshal(data, &text)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errMalformed, err)
	case text.Version != storedVersion:
		err = fmt.Errorf("%w: its submission has version %d, this build reads %d", errMalformed, text.Version, storedVersion)
	case text.ClientTimeout < 0:
		err = fmt.Errorf("%w: its client may be silent for %s", errMalformed, text.ClientTimeout)
	}
	if err != nil {
		return Submission{}, time.Time{}, err
	}
	return Submission{
		Job: job, Program: msg.Program(text.Program), Detached: text.Detached, ClientTimeout: text.ClientTimeout,
	}, text.Submitted, nil
}

// resultText is the beginning of a stored result. The subtasks of the vertices and the buffers of Results follow it. The list
// of jobs needs only the beginning.
//
//	┌────────────────┬────────────┬─ of each vertex ─────────────────────┬─ for each of Results ──────┐
//	│ length uvarint │ resultText │ subtasks, see msg.VertexDetails      │ buffer, see collect.Buffer │
//	└────────────────┴────────────┴──────────────────────────────────────┴────────────────────────────┘
type resultText struct {
	Version   int            `json:"version"`
	Digest    string         `json:"digest"`    // of the job's graph
	Arguments string         `json:"arguments"` // see identity
	Details   msg.JobDetails `json:"details"`   // with the name
	Subtasks  []int          `json:"subtasks"`  // bytes of the subtasks of each vertex; null: they are not kept
	Results   []string       `json:"results"`   // in their order; null and [] are different: see result
	Bytes     int            `json:"bytes"`     // of all that follows
}

func encodeResult(r result) ([]byte, error) {
	text := resultText{Version: storedVersion, Digest: r.Identity.Digest, Arguments: r.Identity.Arguments, Details: *r.Details}
	if r.Results != nil {
		text.Results = slices.AppendSeq([]string{}, maps.Keys(r.Results))
		slices.Sort(text.Results)
	}
	for _, name := range text.Results {
		text.Bytes += r.Results[name].EncodedSize()
	}
	vertices := r.Details.Vertices
	if slices.ContainsFunc(vertices, func(v msg.VertexDetails) bool { return v.Subtasks != nil }) { // then all are kept
		for _, v := range vertices {
			text.Subtasks = append(text.Subtasks, len(v.Subtasks))
			text.Bytes += len(v.Subtasks)
		}
	}
	head, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	body := append(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64+len(head)+text.Bytes), uint64(len(head))), head...)
	for _, v := range vertices {
		body = append(body, v.Subtasks...)
	}
	for _, name := range text.Results {
		body = r.Results[name].AppendTo(body)
	}
	return body, nil
}

// headSize is the size of what is read of a result at first, in bytes: most of them are smaller.
const headSize = 64 << 10

// resultHead is the beginning of a stored result.
type resultHead struct {
	text   resultText
	length int // of the part that text comes from, in bytes
}

// whole is the size of the result, in bytes.
func (h resultHead) whole() int { return h.length + h.text.Bytes }

// decodeHead reads the beginning of the stored result of a job that has ended with a status. If the start of the result is too
// short for that, it returns how many bytes are needed. Error: errMalformed.
func decodeHead(start []byte, job ids.JobID, status msg.JobStatus) (h resultHead, needed int, err error) {
	length, n := binary.Uvarint(start)
	if n <= 0 || length > math.MaxInt32 {
		return h, 0, fmt.Errorf("%w: its result is cut off", errMalformed)
	}
	h.length = n + int(length)
	if h.length > len(start) {
		return h, h.length, nil
	}
	err = json.Unmarshal(start[n:h.length], &h.text)
	switch details := &h.text.Details; {
	case err != nil:
		err = fmt.Errorf("%w: %w", errMalformed, err)
	case h.text.Version != storedVersion:
		err = fmt.Errorf("%w: its result has version %d, this build reads %d", errMalformed, h.text.Version, storedVersion)
	case details.ID != job || details.Status != status:
		err = fmt.Errorf("%w: its result is that of job %s, which is %s", errMalformed, details.ID, details.Status)
	}
	return h, 0, err
}

// result is what the beginning tells.
func (h resultHead) result() result {
	t := &h.text
	return result{Identity: identity{Name: t.Details.Name, Digest: t.Digest, Arguments: t.Arguments}, Details: &t.Details}
}

// decodeResult reads the stored result of a job that has ended with a status. Error: errMalformed.
func decodeResult(body []byte, job ids.JobID, status msg.JobStatus) (result, error) {
	h, needed, err := decodeHead(body, job, status)
	switch {
	case err != nil:
		return result{}, err
	case needed > 0:
		return result{}, fmt.Errorf("%w: its result is cut off", errMalformed)
	}
	r, text, rest := h.result(), h.text, body[h.length:]
	if rest, err = takeSubtasks(r.Details.Vertices, text.Subtasks, rest); err != nil {
		return result{}, err
	}
	if text.Results != nil {
		r.Results = make(collect.Results)
	}
	for _, name := range text.Results {
		if r.Results[name], rest, err = collect.Decode(rest); err != nil {
			return result{}, fmt.Errorf("%w: %q: %w", errMalformed, name, err)
		}
	}
	if len(rest) > 0 {
		return result{}, fmt.Errorf("%w: its result has %d bytes too many", errMalformed, len(rest))
	}
	return r, nil
}

// takeSubtasks takes the subtasks of vertices from the beginning of what is stored, and returns the rest. lengths has the
// length of each. Error: errMalformed.
func takeSubtasks(vertices []msg.VertexDetails, lengths []int, stored []byte) (rest []byte, err error) {
	if len(lengths) > 0 && len(lengths) != len(vertices) {
		return nil, fmt.Errorf("%w: its result has the subtasks of %d vertices of %d", errMalformed, len(lengths), len(vertices))
	}
	for v, length := range lengths {
		if length < 0 || length > len(stored) {
			return nil, fmt.Errorf("%w: its subtasks are cut off", errMalformed)
		}
		vertices[v].Subtasks, stored = bytes.Clone(stored[:length]), stored[length:]
	}
	return stored, nil
}
