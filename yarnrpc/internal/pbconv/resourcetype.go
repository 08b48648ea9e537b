package pbconv

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Resource converts an amount. For memory and cores the fields count, not the map.
func Resource(p *yarnpb.ResourceProto) records.Resource {
	r := records.Resource{MemoryMB: p.GetMemory(), VCores: int(p.GetVirtualCores())}
	if list := p.GetResourceValueMap(); len(list) > 0 {
		amounts := mapped(list, func(p *yarnpb.ResourceInformationProto) (string, records.ResourceAmount) {
			return p.GetKey(), records.ResourceAmount{Value: p.GetValue(), Units: p.GetUnits()}
		})
		delete(amounts, records.ResourceMemory)
		delete(amounts, records.ResourceVCores)
		r.Others = records.NewResourceValues(amounts)
	}
	return r
}

// ResourceProto converts an amount. Memory and cores have their own fields and need not
// be in the map.
func ResourceProto(r records.Resource) *yarnpb.ResourceProto {
	return &yarnpb.ResourceProto{
		Memory: proto.Int64(r.MemoryMB), VirtualCores: proto.Int32(clamp(r.VCores)),
		ResourceValueMap: entries(r.Others.Map(), func(name string, a records.ResourceAmount) *yarnpb.ResourceInformationProto {
			return &yarnpb.ResourceInformationProto{Key: proto.String(name), Value: proto.Int64(a.Value), Units: proto.String(a.Units)}
		}),
	}
}

// ResourceTypes converts the resource types of a cluster.
func ResourceTypes(ps []*yarnpb.ResourceTypeInfoProto) []records.ResourceType {
	return each(ps, func(p *yarnpb.ResourceTypeInfoProto) records.ResourceType {
		return records.ResourceType{Name: p.GetName(), Units: p.GetUnits()}
	})
}

// ResourceProfile converts a named size of container.
func ResourceProfile(name string, p *yarnpb.ResourceProto) records.ResourceProfile {
	return records.ResourceProfile{Name: name, Resource: Resource(p)}
}

// ResourceProfiles converts a list.
func ResourceProfiles(p *yarnpb.ResourceProfilesProto) []records.ResourceProfile {
	return each(p.GetResourceProfilesMap(), func(p *yarnpb.ResourceProfileEntry) records.ResourceProfile {
		return ResourceProfile(p.GetName(), p.GetResources())
	})
}
