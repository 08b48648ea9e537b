package pbconv

import (
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ContainerSignal converts a signal.
func ContainerSignal(p *yarnpb.SignalContainerCommandProto) records.ContainerSignal {
	return state[records.ContainerSignal](p, "")
}

// ContainerSignalProto converts a signal; nil for one that YARN does not have.
func ContainerSignalProto(s records.ContainerSignal) *yarnpb.SignalContainerCommandProto {
	return stateProto[yarnpb.SignalContainerCommandProto](s, "", yarnpb.SignalContainerCommandProto_value)
}
