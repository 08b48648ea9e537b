package ids

import (
	"fmt"
	"strconv"
	"strings"
)

// Epoch orders the masters of an application: it is the number of the ApplicationMaster's attempt, from 1. Epoch 0 is
// what the client has staged before any master leads. A process that knows an epoch refuses a lower one.
type Epoch int

// NewResourceManagerID makes the fencing token of a grant in an epoch from a random text.
func NewResourceManagerID(epoch Epoch, random string) ResourceManagerID {
	return ResourceManagerID(token(epoch, random))
}

// NewJobMasterID makes the fencing token of a grant in an epoch from a random text.
func NewJobMasterID(epoch Epoch, random string) JobMasterID {
	return JobMasterID(token(epoch, random))
}

// Epoch is the epoch of the grant; 0 for a token that names none.
func (id ResourceManagerID) Epoch() Epoch { return EpochOf(string(id)) }

// Epoch is the epoch of the grant; 0 for a token that names none.
func (id JobMasterID) Epoch() Epoch { return EpochOf(string(id)) }

func token(epoch Epoch, random string) string { return fmt.Sprintf("%d-%s", epoch, random) }

// EpochOf is the epoch of a fencing token; 0 for a token that names none.
func EpochOf(token string) Epoch {
	number, _, found := strings.Cut(token, "-")
	epoch, err := strconv.Atoi(number)
	if !found || err != nil || epoch < 0 {
		return 0
	}
	return Epoch(epoch)
}
