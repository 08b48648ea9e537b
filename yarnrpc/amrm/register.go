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

// RegisterRequest holds the addresses of the ApplicationMaster
// (RegisterApplicationMasterRequest).
type RegisterRequest struct {
	Host        string // shown in application reports
	RPCPort     int    // likewise; -1: none
	TrackingURL string // to which YARN's proxy leads; host:port alone means http
	// Rules are constraints for all containers with certain tags. They need the same
	// cluster setting as SchedulingRequest.
	Rules []TagRule
}

// Registration is YARN's answer to Register (RegisterApplicationMasterResponse).
type Registration struct {
	// Maximum is the largest container of the application's queue. It is zero if the
	// answer of an earlier try was lost.
	Maximum records.Resource
	Queue   string // full path, such as root.default
	ACLs    map[records.ApplicationAccess]string
	// CPUScheduled is true if the scheduler considers cores as well as memory.
	CPUScheduled bool
	// PreviousContainers are running containers of earlier attempts, for
	// applications that keep containers across attempts.
	PreviousContainers []records.Container
	NMTokens           map[records.NodeID]*creds.Token // of their nodes
	// ResourceTypes are the cluster's resource types, with memory and cores.
	ResourceTypes []records.ResourceType
	// Profiles are named container sizes; nil if the cluster has none.
	Profiles []records.ResourceProfile
	// ClientToAMKey verifies the tokens of clients; secure clusters only. Secret.
	ClientToAMKey []byte
}

// Register registers the ApplicationMaster. Call it once, before the first Allocate.
// After an error other than ErrAttemptGone it may be called again. If an earlier try
// registered but its answer was lost, YARN refuses the second; then Register returns
// an empty Registration.
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
		// The attempt is registered already, or unknown. The next Allocate shows which.
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
