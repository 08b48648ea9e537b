package pbconv

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestOfAContainerThatIsToldTwiceTheLastCounts(t *testing.T) {
	told := func(name string) *yarnpb.ContainerLocalizationStatusesProto {
		return &yarnpb.ContainerLocalizationStatusesProto{
			ContainerId:          ContainerIDProto(container),
			LocalizationStatuses: []*yarnpb.LocalizationStatusProto{{ResourceKey: proto.String(name), LocalizationState: yarnpb.LocalizationStateProto_L_FAILED.Enum()}},
		}
	}
	got := LocalizationStatuses([]*yarnpb.ContainerLocalizationStatusesProto{told("a"), told("b")})
	if want := (records.LocalizationStatus{Name: "b", State: records.LocalizationFailed}); len(got) != 1 || len(got[container]) != 1 || got[container][0] != want {
		t.Errorf("statuses are %+v, want %+v alone", got, want)
	}
	if got := LocalizationStatuses(nil); got != nil {
		t.Errorf("no containers are %+v", got)
	}
}

// FuzzLocalization reads NodeManagers' reports of files. It would catch a message that
// crashes its reader, and a failed file that becomes a complete one.
func FuzzLocalization(f *testing.F) {
	f.Add(marshalled(f, LocalizationStatusProto(records.LocalizationStatus{Name: "lib/x", State: records.LocalizationFailed, Diagnostics: "gone"})))
	f.Add(marshalled(f, &yarnpb.ContainerLocalizationStatusesProto{
		ContainerId: ContainerIDProto(container), LocalizationStatuses: []*yarnpb.LocalizationStatusProto{{}, {ResourceKey: proto.String("x")}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		survives(t, b, &yarnpb.LocalizationStatusProto{}, LocalizationStatus, LocalizationStatusProto)
		reads(t, b, &yarnpb.ContainerLocalizationStatusesProto{}, func(p *yarnpb.ContainerLocalizationStatusesProto) {
			got := LocalizationStatuses([]*yarnpb.ContainerLocalizationStatusesProto{p, p})
			if n := len(got[ContainerID(p.GetContainerId())]); len(got) != 1 || n != len(p.GetLocalizationStatuses()) {
				t.Errorf("%d files of %d containers, want %d of one", n, len(got), len(p.GetLocalizationStatuses()))
			}
		})
	})
}
