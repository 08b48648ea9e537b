package exchange

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Errors that callers test with errors.Is.
var (
	// ErrPeerLost says that a task fails because another host or task of the job was lost or
	// failed: look for that failure. errors.As with *PeerLostError names the host.
	ErrPeerLost = errors.New("peer lost")
	// ErrClosed says that the host's exchange is closed.
	ErrClosed = errors.New("exchange is closed")
	// errProtocol says that a peer broke the protocol of this version.
	errProtocol = errors.New("exchange protocol violated")
	// errTooManyChannels says that the tasks of this host read more channels from another host than
	// one connection carries. It is also operator.ErrPermanent: another attempt would need as many.
	errTooManyChannels = errors.New("too many channels between two hosts")
	// ErrRecordTooLarge says that a record exceeds MaxRecord.
	ErrRecordTooLarge = errors.New("record exceeds 128 MiB")
)

// tooManyChannels is the error of a channel for which a connection has no room.
func tooManyChannels(from ids.HostID, most int) error {
	return operator.Permanent(fmt.Errorf(
		"%w: tasks of this host read %d channels from host %s, and one connection carries no more (an all-to-all edge has a channel for each pair of tasks); run fewer tasks on each worker (taskmanager.numberOfTaskSlots), use more workers, or lower the parallelism",
		errTooManyChannels, most, from))
}

// PeerLostError is an ErrPeerLost. It does not unwrap Err: a task must not take the io.EOF of a
// connection for the end of its input.
type PeerLostError struct {
	Host    ids.HostID
	Address string // the address where it listens, or from which it called
	Err     error  // the error of the connection
}

func (e *PeerLostError) Error() string {
	return fmt.Sprintf("lost host %s at %s: %v", e.Host, e.Address, e.Err)
}

// Is makes the error ErrPeerLost.
func (e *PeerLostError) Is(target error) bool { return target == ErrPeerLost }

// PartitionLostError says that a Server does not have a finished partition, or that its file is damaged. The task that has written it
// must run again. It does not unwrap Err: see PeerLostError.
type PartitionLostError struct {
	Partition PartitionID
	Host      ids.HostID // of the Server
	Address   string
	Err       error // what the Server says
}

func (e *PartitionLostError) Error() string {
	return fmt.Sprintf("lost partition %s at %s (%s): %v", e.Partition, e.Host, e.Address, e.Err)
}
