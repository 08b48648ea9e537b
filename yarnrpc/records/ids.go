package records

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// ErrMalformed is wrapped by the errors of every Parse function of this package.
var ErrMalformed = errors.New("malformed text")

// ApplicationID identifies an application: application_<cluster timestamp>_<id>.
type ApplicationID struct {
	ClusterTimestamp int64 // when the ResourceManager started, in milliseconds since 1970
	ID               int32
}

// ApplicationAttemptID identifies one attempt of an application: appattempt_<cluster
// timestamp>_<application>_<attempt>.
type ApplicationAttemptID struct {
	Application ApplicationID
	Attempt     int32 // from 1
}

// ContainerID identifies a container. It holds the attempt to which YARN gave the
// container, even if a later attempt has taken it over.
type ContainerID struct {
	Attempt ApplicationAttemptID
	ID      int64 // epoch << 40 | sequence
}

// NodeID identifies a NodeManager by the address of its RPC server: host:port. An ask
// for this node must use Host.
type NodeID struct {
	Host string
	Port int
}

// epochShift is where the epoch begins in the number of a container
// (org.apache.hadoop.yarn.api.records.ContainerId).
const epochShift = 40

// Epoch returns the number of restarts of the ResourceManager before the container was
// allocated.
func (id ContainerID) Epoch() int64 { return id.ID >> epochShift }

// Sequence returns the container's number among those of its attempt in the epoch. The
// first container of an attempt is its ApplicationMaster, unless that is unmanaged.
func (id ContainerID) Sequence() int64 { return id.ID & (1<<epochShift - 1) }

func (id ApplicationID) String() string {
	return fmt.Sprintf("application_%d_%04d", id.ClusterTimestamp, id.ID)
}

func (id ApplicationAttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", id.Application.ClusterTimestamp, id.Application.ID, id.Attempt)
}

func (id ContainerID) String() string {
	epoch := ""
	if id.Epoch() > 0 {
		epoch = fmt.Sprintf("e%02d_", id.Epoch())
	}
	app := id.Attempt.Application
	return fmt.Sprintf("container_%s%d_%04d_%02d_%06d", epoch, app.ClusterTimestamp, app.ID, id.Attempt.Attempt, id.Sequence())
}

func (id NodeID) String() string { return net.JoinHostPort(id.Host, strconv.Itoa(id.Port)) }

// ParseApplicationID reads the text form.
func ParseApplicationID(s string) (ApplicationID, error) {
	f := fields{rest: s}
	f.word("application")
	id := f.application()
	return id, f.end("application id", s)
}

// ParseApplicationAttemptID reads the text form.
func ParseApplicationAttemptID(s string) (ApplicationAttemptID, error) {
	f := fields{rest: s}
	f.word("appattempt")
	id := ApplicationAttemptID{Application: f.application(), Attempt: int32(f.number(31))}
	return id, f.end("application attempt id", s)
}

// ParseContainerID reads the text form, with or without an epoch.
func ParseContainerID(s string) (ContainerID, error) {
	f := fields{rest: s}
	f.word("container")
	var epoch int64
	if rest, has := strings.CutPrefix(f.rest, "e"); has {
		f.rest = rest
		epoch = f.number(63 - epochShift)
	}
	id := ContainerID{Attempt: ApplicationAttemptID{Application: f.application(), Attempt: int32(f.number(31))}}
	id.ID = epoch<<epochShift | f.number(epochShift)
	return id, f.end("container id", s)
}

// ParseNodeID reads host:port.
func ParseNodeID(s string) (NodeID, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return NodeID{}, fmt.Errorf("parse node id %q: %w: want host:port", s, ErrMalformed)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return NodeID{}, fmt.Errorf("parse node id %q: %w: port is not a number below 65536", s, ErrMalformed)
	}
	return NodeID{Host: host, Port: int(number)}, nil
}

// fields reads the parts of an id between underscores. After the first wrong part it
// reads nothing more, and end returns the error.
type fields struct {
	rest string
	bad  bool
}

func (f *fields) next() string {
	part, rest, more := strings.Cut(f.rest, "_")
	f.rest = rest
	if !more {
		f.rest = ""
	}
	return part
}

func (f *fields) word(want string) {
	if f.next() != want {
		f.bad = true
	}
}

// number reads digits below 1<<bits. It refuses a sign, because Hadoop never writes one.
func (f *fields) number(bits int) int64 {
	part := f.next()
	n, err := strconv.ParseUint(part, 10, bits)
	if err != nil || f.bad {
		f.bad = true
		return 0
	}
	return int64(n)
}

func (f *fields) application() ApplicationID {
	return ApplicationID{ClusterTimestamp: f.number(63), ID: int32(f.number(31))}
}

func (f *fields) end(what, s string) error {
	if f.bad || f.rest != "" || strings.HasSuffix(s, "_") {
		return fmt.Errorf("parse %s %q: %w", what, s, ErrMalformed)
	}
	return nil
}

// IsZero reports whether id names no application.
func (id ApplicationID) IsZero() bool { return id == ApplicationID{} }

// IsZero reports whether id names no attempt.
func (id ApplicationAttemptID) IsZero() bool { return id == ApplicationAttemptID{} }

// IsZero reports whether id names no container.
func (id ContainerID) IsZero() bool { return id == ContainerID{} }

// IsZero reports whether id names no node.
func (id NodeID) IsZero() bool { return id == NodeID{} }

// Compare orders applications by age.
func (id ApplicationID) Compare(other ApplicationID) int {
	return cmp.Or(cmp.Compare(id.ClusterTimestamp, other.ClusterTimestamp), cmp.Compare(id.ID, other.ID))
}

// Compare orders attempts by application, then by age.
func (id ApplicationAttemptID) Compare(other ApplicationAttemptID) int {
	return cmp.Or(id.Application.Compare(other.Application), cmp.Compare(id.Attempt, other.Attempt))
}

// Compare orders containers by attempt, then by age.
func (id ContainerID) Compare(other ContainerID) int {
	return cmp.Or(id.Attempt.Compare(other.Attempt), cmp.Compare(id.ID, other.ID))
}

// Compare orders nodes by host, then by port.
func (id NodeID) Compare(other NodeID) int {
	return cmp.Or(cmp.Compare(id.Host, other.Host), cmp.Compare(id.Port, other.Port))
}

// MarshalText returns the text form: in JSON, ids are strings and keys.
func (id ApplicationID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText returns the text form: in JSON, ids are strings and keys.
func (id ApplicationAttemptID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText returns the text form: in JSON, ids are strings and keys.
func (id ContainerID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText returns the text form: in JSON, ids are strings and keys.
func (id NodeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text form.
func (id *ApplicationID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseApplicationID(string(text))
	return err
}

// UnmarshalText reads the text form.
func (id *ApplicationAttemptID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseApplicationAttemptID(string(text))
	return err
}

// UnmarshalText reads the text form.
func (id *ContainerID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseContainerID(string(text))
	return err
}

// UnmarshalText reads the text form.
func (id *NodeID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseNodeID(string(text))
	return err
}
