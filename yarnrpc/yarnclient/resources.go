package yarnclient

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceTypes lists the resource types of the cluster (getResourceTypeInfo):
// memory, vcores and those of yarn.resource-types.
func (c *Client) ResourceTypes(ctx context.Context) ([]records.ResourceType, error) {
	var response yarnpb.GetAllResourceTypeInfoResponseProto
	if err := c.rpc.Call(ctx, "getResourceTypeInfo", &yarnpb.GetAllResourceTypeInfoRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list resource types: %w", err)
	}
	return pbconv.ResourceTypes(response.GetResourceTypeInfo()), nil
}

// ResourceProfiles lists the named container sizes (getResourceProfiles). minimum,
// maximum and default always exist. The error is yarnrpc.ErrYarn if the cluster
// does not set yarn.resourcemanager.resource-profiles.enabled.
func (c *Client) ResourceProfiles(ctx context.Context) ([]records.ResourceProfile, error) {
	var response yarnpb.GetAllResourceProfilesResponseProto
	if err := c.rpc.Call(ctx, "getResourceProfiles", &yarnpb.GetAllResourceProfilesRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list resource profiles: %w", err)
	}
	return pbconv.ResourceProfiles(response.GetResourceProfiles()), nil
}

// ResourceProfile returns one named container size (getResourceProfile). The error
// is yarnrpc.ErrYarn if it does not exist.
func (c *Client) ResourceProfile(ctx context.Context, name string) (records.ResourceProfile, error) {
	request := &yarnpb.GetResourceProfileRequestProto{Profile: proto.String(name)}
	var response yarnpb.GetResourceProfileResponseProto
	if err := c.rpc.Call(ctx, "getResourceProfile", request, &response); err != nil {
		return records.ResourceProfile{}, fmt.Errorf("read resource profile %s: %w", name, err)
	}
	return pbconv.ResourceProfile(name, response.GetResources()), nil
}
