package pbconv

import (
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceTypes converts the resource types of a cluster.
func ResourceTypes(ps []*yarnpb.ResourceTypeInfoProto) []records.ResourceType {
	return each(ps, func(p *yarnpb.ResourceTypeInfoProto) records.ResourceType {
		return records.ResourceType{Name: p.GetName(), Units: p.GetUnits()}
	})
}

// ResourceProfile converts a named size of container.
func ResourceProfile(name string, p *yarnpb.ResourceProto) records.ResourceProfile {
	return records.ResourceProfile{
		Name:     name,
		Resource: Resource(p),
		Amounts: mapped(p.GetResourceValueMap(), func(p *yarnpb.ResourceInformationProto) (string, records.ResourceAmount) {
			return p.GetKey(), records.ResourceAmount{Value: p.GetValue(), Units: p.GetUnits()}
		}),
	}
}

// ResourceProfiles converts a list.
func ResourceProfiles(p *yarnpb.ResourceProfilesProto) []records.ResourceProfile {
	return each(p.GetResourceProfilesMap(), func(p *yarnpb.ResourceProfileEntry) records.ResourceProfile {
		return ResourceProfile(p.GetName(), p.GetResources())
	})
}
