package amrm

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// RegisterRequest is where the ApplicationMaster can be found
// (RegisterApplicationMasterRequest).
type RegisterRequest struct {
	Host        string // shown in application reports
	RPCPort     int    // likewise; -1 where there is none
	TrackingURL string // that YARN's proxy leads to; host:port alone is taken as http
	// Rules are constraints that hold for all containers with certain tags; they
	// need what SchedulingRequest needs.
	Rules []TagRule
}

// Registration is what YARN answers to Register (RegisterApplicationMasterResponse).
type Registration struct {
	// Maximum is the largest container the application's queue gives. Zero when
	// the answer of an earlier try was lost.
	Maximum records.Resource
	Queue   string // full path, such as root.default
	ACLs    map[records.ApplicationAccess]string
	// CPUScheduled says that the scheduler looks at cores as well as memory.
	CPUScheduled bool
	// PreviousContainers still run, left by earlier attempts; only for
	// applications that keep containers across attempts.
	PreviousContainers []records.Container
	NMTokens           map[records.NodeID]*creds.Token // of their nodes
	// ResourceTypes are those that the cluster knows, memory and cores included.
	ResourceTypes []records.ResourceType
	// Profiles are named sizes of containers; nil where the cluster has none.
	Profiles []records.ResourceProfile
	// ClientToAMKey verifies the tokens of clients; secure clusters only. Secret.
	ClientToAMKey []byte
}

// Register announces the ApplicationMaster; once, before the first Allocate.
// After an error other than ErrAttemptGone it may be called again. Should an
// earlier try have registered without our hearing, YARN refuses the second and
// the Registration is empty.
func (c *Client) Register(ctx context.Context, r RegisterRequest) (Registration, error) {
	c.registration = &r
	registration, err := c.register(ctx)
	if err != nil {
		return Registration{}, fmt.Errorf("register %s: %w", c.attempt, err)
	}
	return registration, nil
}

func (c *Client) register(ctx context.Context) (Registration, error) {
	var response yarnpb.RegisterApplicationMasterResponseProto
	err := c.call(ctx, "registerApplicationMaster", registerProto(*c.registration), &response)
	if errors.Is(err, yarnrpc.ErrInvalidApplicationMasterRequest) {
		// It is registered already, or unknown: the next Allocate tells which.
		return Registration{}, nil
	}
	if err != nil {
		return Registration{}, err
	}
	registration := registrationOf(&response)
	maps.Copy(c.nmTokens, registration.NMTokens)
	return registration, nil
}

// SetTrackingURL replaces the registered URL with the next Allocate, on clusters
// of Hadoop 3.1 or later (AMRMClient#updateTrackingUrl). Call it after Register.
func (c *Client) SetTrackingURL(url string) {
	c.core.trackingURL = url
	if c.registration != nil {
		registration := *c.registration
		registration.TrackingURL = url
		c.registration = &registration
	}
}
