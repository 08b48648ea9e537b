package pbconv

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const localizationPrefix = "L_"

// LocalResourceProtos converts local resources by the names of their links. Equal maps
// give equal bytes.
func LocalResourceProtos(resources map[string]records.LocalResource) []*yarnpb.StringLocalResourceMapProto {
	return entries(resources, func(name string, r records.LocalResource) *yarnpb.StringLocalResourceMapProto {
		return &yarnpb.StringLocalResourceMapProto{Key: proto.String(name), Value: LocalResourceProto(r)}
	})
}

// LocalizationStatus converts the localization status of a file.
func LocalizationStatus(p *yarnpb.LocalizationStatusProto) records.LocalizationStatus {
	if p == nil {
		return records.LocalizationStatus{}
	}
	return records.LocalizationStatus{
		Name:        p.GetResourceKey(),
		State:       state[records.LocalizationState](p.LocalizationState, localizationPrefix),
		Diagnostics: p.GetDiagnostics(),
	}
}

// LocalizationStatusProto converts the localization status of a file.
func LocalizationStatusProto(s records.LocalizationStatus) *yarnpb.LocalizationStatusProto {
	return &yarnpb.LocalizationStatusProto{
		ResourceKey:       proto.String(s.Name),
		LocalizationState: stateProto[yarnpb.LocalizationStateProto](s.State, localizationPrefix, yarnpb.LocalizationStateProto_value),
		Diagnostics:       proto.String(s.Diagnostics),
	}
}

// LocalizationStatuses converts the files of several containers. If a container comes
// twice, the last one counts.
func LocalizationStatuses(ps []*yarnpb.ContainerLocalizationStatusesProto) map[records.ContainerID][]records.LocalizationStatus {
	if len(ps) == 0 {
		return nil
	}
	m := make(map[records.ContainerID][]records.LocalizationStatus, len(ps))
	for _, p := range ps {
		m[ContainerID(p.GetContainerId())] = each(p.GetLocalizationStatuses(), LocalizationStatus)
	}
	return m
}
