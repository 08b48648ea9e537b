// Package identifier decodes the identifier bytes of a token: its user, the time at which it
// expires, and other fields. Only diagnostics and renewal need the fields; a login sends the bytes
// unchanged. The package is pure.
package identifier

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var (
	// ErrKind says that the token has another kind than the function decodes.
	ErrKind = errors.New("token of another kind")
	// ErrFormat says that the bytes are no identifier of the token's kind.
	ErrFormat = errors.New("bad token identifier")
)

// AMRM is the identifier of an ApplicationMaster's token for the ResourceManager.
type AMRM struct {
	Attempt records.ApplicationAttemptID
	KeyID   int32
}

// NM is the identifier of an ApplicationMaster's token for a NodeManager.
type NM struct {
	Attempt   records.ApplicationAttemptID
	Node      records.NodeID
	Submitter string // the application's user
	KeyID     int32
}

// Container is the identifier of the token that proves an allocation.
type Container struct {
	ID           records.ContainerID
	NodeAddress  string // host:port
	Submitter    string // the application's user
	Resource     records.Resource
	Expires      time.Time // the container must be started before this time
	KeyID        int32
	RMIdentifier int64 // when the ResourceManager started, in milliseconds since 1970
	Priority     records.Priority
	Created      time.Time
	Version      int
}

// ClientToAM is the identifier of a client's token for an ApplicationMaster.
type ClientToAM struct {
	Attempt records.ApplicationAttemptID
	Client  string
}

// Delegation is the identifier of a user's token for the ResourceManager, the
// NameNode or the timeline server.
type Delegation struct {
	Owner    string
	Renewer  string // the user who may renew it; empty: none
	RealUser string // the user who acts for Owner; empty: Owner itself
	Issued   time.Time
	Max      time.Time // no renewal goes beyond this time
	Sequence int32
	KeyID    int32
}

// Ends returns the time at which the token ends for good: Max, or the end of its first interval
// if no user may renew it. interval is the renewal interval of the server
// (dfs.namenode.delegation.token.renew-interval).
func (d Delegation) Ends(interval time.Duration) time.Time {
	if first := d.Issued.Add(interval); d.Renewer == "" && first.Before(d.Max) {
		return first
	}
	return d.Max
}

// DecodeAMRM decodes a token of kind creds.KindAMRM.
func DecodeAMRM(t *creds.Token) (AMRM, error) {
	var p yarnpb.AMRMTokenIdentifierProto
	if err := decode(t, &p, creds.KindAMRM); err != nil {
		return AMRM{}, err
	}
	return AMRM{Attempt: pbconv.ApplicationAttemptID(p.GetAppAttemptId()), KeyID: p.GetKeyId()}, nil
}

// DecodeNM decodes a token of kind creds.KindNM.
func DecodeNM(t *creds.Token) (NM, error) {
	var p yarnpb.NMTokenIdentifierProto
	if err := decode(t, &p, creds.KindNM); err != nil {
		return NM{}, err
	}
	return NM{
		Attempt:   pbconv.ApplicationAttemptID(p.GetAppAttemptId()),
		Node:      pbconv.NodeID(p.GetNodeId()),
		Submitter: p.GetAppSubmitter(),
		KeyID:     p.GetKeyId(),
	}, nil
}

// DecodeContainer decodes a token of kind creds.KindContainer.
func DecodeContainer(t *creds.Token) (Container, error) {
	var p yarnpb.ContainerTokenIdentifierProto
	if err := decode(t, &p, creds.KindContainer); err != nil {
		return Container{}, err
	}
	return Container{
		ID:           pbconv.ContainerID(p.GetContainerId()),
		NodeAddress:  p.GetNmHostAddr(),
		Submitter:    p.GetAppSubmitter(),
		Resource:     pbconv.Resource(p.GetResource()),
		Expires:      pbconv.Time(p.GetExpiryTimeStamp()),
		KeyID:        p.GetMasterKeyId(),
		RMIdentifier: p.GetRmIdentifier(),
		Priority:     pbconv.Priority(p.GetPriority()),
		Created:      pbconv.Time(p.GetCreationTime()),
		Version:      int(p.GetVersion()),
	}, nil
}

// DecodeClientToAM decodes a token of kind creds.KindClientToAM.
func DecodeClientToAM(t *creds.Token) (ClientToAM, error) {
	var p yarnpb.ClientToAMTokenIdentifierProto
	if err := decode(t, &p, creds.KindClientToAM); err != nil {
		return ClientToAM{}, err
	}
	return ClientToAM{Attempt: pbconv.ApplicationAttemptID(p.GetAppAttemptId()), Client: p.GetClientName()}, nil
}

// DecodeDelegation decodes a token of kind creds.KindRMDelegation,
// creds.KindTimelineService or creds.KindHDFSDelegation.
func DecodeDelegation(t *creds.Token) (Delegation, error) {
	if t.Kind == creds.KindHDFSDelegation {
		return decodeHDFS(t.Identifier)
	}
	var p yarnpb.YARNDelegationTokenIdentifierProto
	if err := decode(t, &p, creds.KindRMDelegation, creds.KindTimelineService); err != nil {
		return Delegation{}, err
	}
	return Delegation{
		Owner:    p.GetOwner(),
		Renewer:  p.GetRenewer(),
		RealUser: p.GetRealUser(),
		Issued:   pbconv.Time(p.GetIssueDate()),
		Max:      pbconv.Time(p.GetMaxDate()),
		Sequence: p.GetSequenceNumber(),
		KeyID:    p.GetMasterKeyId(),
	}, nil
}

// decodeHDFS reads a version byte 0 and then the fields in Writable form
// (AbstractDelegationTokenIdentifier).
func decodeHDFS(b []byte) (Delegation, error) {
	if len(b) == 0 || b[0] != 0 {
		return Delegation{}, fmt.Errorf("decode %s identifier: %w: unknown version", creds.KindHDFSDelegation, ErrFormat)
	}
	r := writable.NewReader(b[1:])
	d := Delegation{
		Owner:    r.Text(),
		Renewer:  r.Text(),
		RealUser: r.Text(),
		Issued:   pbconv.Time(r.VLong()),
		Max:      pbconv.Time(r.VLong()),
		Sequence: r.VInt(),
		KeyID:    r.VInt(),
	}
	if err := r.End(); err != nil {
		return Delegation{}, fmt.Errorf("decode %s identifier: %w: %w", creds.KindHDFSDelegation, ErrFormat, err)
	}
	return d, nil
}

func decode(t *creds.Token, p proto.Message, kinds ...string) error {
	for _, kind := range kinds {
		if t.Kind != kind {
			continue
		}
		if err := proto.Unmarshal(t.Identifier, p); err != nil {
			return fmt.Errorf("decode %s identifier: %w: %w", t.Kind, ErrFormat, err)
		}
		return nil
	}
	return fmt.Errorf("decode identifier of %v: %w: want %v", t, ErrKind, kinds)
}
