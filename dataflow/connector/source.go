package connector

import "context"

// Source is where a job reads elements of type T. Each element is in exactly one split.
type Source[T any] interface {
	// Enumerate lists the splits. It is called once, in the planner's process, and may do I/O. The subtasks get the splits in
	// this order, one at a time, so begin with the largest. Some splits for each subtask are a good number: a slow subtask then
	// takes fewer. The job fails before it starts if Enumerate does, so check here that the input exists and may be read.
	Enumerate(ctx context.Context, p Planning) ([]Split, error)
	// NewReader makes the reader of one attempt of a subtask. ctx ends with the attempt.
	NewReader(ctx context.Context, e Environment) (Reader[T], error)
}

// Reader reads splits, one after the other: Open, then Poll until io.EOF. A split must give the same elements in the same order
// whenever it is read, because its subtask may be lost. Only one goroutine uses a Reader.
type Reader[T any] interface {
	// Open begins to read a split at a position: nil is the beginning of the split, and any other is one that Position gave
	// for it, maybe in another process. ctx ends what Poll waits for.
	Open(ctx context.Context, split Split, position []byte) error
	// Poll gives the next element. It is valid until the next call of any method, and the caller may change it. found is false
	// if none has come yet: then Poll is called again after Environment.Wake. The error is io.EOF itself at the end of the
	// split, and in each call after that until Open; an error that wraps io.EOF has another cause. Poll may wait for I/O as
	// long as ctx ends that, but should not wait for elements that do not exist yet. After any other error only Close follows.
	Poll() (element T, found bool, err error)
	// Position appends to dst the place behind the last element that Poll gave, from which Open goes on. It may be called
	// after Open, and changes nothing.
	Position(dst []byte) []byte
	// At says for errors where the last element came from: "reading hdfs://…/part-0, the line at byte 1200". It is "" if that
	// is not known. It may be called at any time, also after Close, because the job's function may have panicked.
	At() string
	// Close ends the reader, and waits for its goroutines. It is called at the end of the attempt, also within a split and
	// after an error. A second call does nothing.
	Close() error
}
