package yarnclient

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceTypes lists the kinds of resources that the cluster hands out
// (getResourceTypeInfo): memory and vcores, and those of yarn.resource-types.
func (c *Client) ResourceTypes(ctx context.Context) ([]records.ResourceType, error) {
	var response yarnpb.GetAllResourceTypeInfoResponseProto
	if err := c.rpc.Call(ctx, "getResourceTypeInfo", &yarnpb.GetAllResourceTypeInfoRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list resource types: %w", err)
	}
	return pbconv.ResourceTypes(response.GetResourceTypeInfo()), nil
}

// ResourceProfiles lists the named sizes of containers (getResourceProfiles):
// minimum, maximum and default are always there. A cluster that does not have
// yarn.resourcemanager.resource-profiles.enabled answers with yarnrpc.ErrYarn.
func (c *Client) ResourceProfiles(ctx context.Context) ([]records.ResourceProfile, error) {
	var response yarnpb.GetAllResourceProfilesResponseProto
	if err := c.rpc.Call(ctx, "getResourceProfiles", &yarnpb.GetAllResourceProfilesRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list resource profiles: %w", err)
	}
	return pbconv.ResourceProfiles(response.GetResourceProfiles()), nil
}

// ResourceProfile gives one named size of container (getResourceProfile). One that
// there is not is yarnrpc.ErrYarn.
func (c *Client) ResourceProfile(ctx context.Context, name string) (records.ResourceProfile, error) {
	request := &yarnpb.GetResourceProfileRequestProto{Profile: proto.String(name)}
	var response yarnpb.GetResourceProfileResponseProto
	if err := c.rpc.Call(ctx, "getResourceProfile", request, &response); err != nil {
		return records.ResourceProfile{}, fmt.Errorf("read resource profile %s: %w", name, err)
	}
	return pbconv.ResourceProfile(name, response.GetResources()), nil
}
