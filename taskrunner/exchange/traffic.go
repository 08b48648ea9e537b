package exchange

// Traffic is what has passed through an InputGate or a ResultPartition since it was made. Bytes include the length prefixes of
// records.
type Traffic struct{ Records, Bytes, Buffers int64 }

// Watcher is told by a goroutine of a task when it begins to wait, in an InputGate for data or in a ResultPartition for room, and
// when it goes on. It must not block.
type Watcher interface {
	Wait()
	Resume()
}

// unwatched is the Watcher of gates and partitions that nobody watches.
type unwatched struct{}

func (unwatched) Wait()   {}
func (unwatched) Resume() {}
