package exchange

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Errors that callers test with errors.Is.
var (
	// ErrPeerLost says that a task fails because of what became of another host
	// or task of the job: that is the failure to look for. errors.As with
	// *PeerLostError names the host.
	ErrPeerLost = errors.New("peer lost")
	// ErrClosed says that the host's exchange is closed.
	ErrClosed = errors.New("exchange is closed")
	// errProtocol says that a peer sent what no host of this version sends.
	errProtocol = errors.New("exchange protocol violated")
	// errTooManyChannels says that the tasks of this host read more from another one than one
	// connection carries. It is operator.ErrPermanent, too: another attempt would need as many.
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

// PeerLostError is an error that is ErrPeerLost. It does not unwrap: the io.EOF of
// a connection must not pass for the end of a task's input.
type PeerLostError struct {
	Host    ids.HostID
	Address string // where its data plane listens, or where it called from
	Err     error  // what was seen of it
}

func (e *PeerLostError) Error() string {
	return fmt.Sprintf("lost host %s at %s: %v", e.Host, e.Address, e.Err)
}

// Is makes the error ErrPeerLost.
func (e *PeerLostError) Is(target error) bool { return target == ErrPeerLost }
