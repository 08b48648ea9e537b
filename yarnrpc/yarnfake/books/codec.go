package books

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
)

// HasClientMethod reports whether the model has a method of ApplicationClientProtocol.
func HasClientMethod(method string) bool { return clientRequest(method) != nil }

// HasMasterMethod reports whether the model has a method of ApplicationMasterProtocol.
func HasMasterMethod(method string) bool { return masterRequest(method) != nil }

// HasNodeMethod reports whether the model has a method of ContainerManagementProtocol.
func HasNodeMethod(method string) bool { return nodeRequest(method) != nil }

// clientRequest returns an empty request of a method, or nil.
func clientRequest(method string) proto.Message {
	switch method {
	case "getNewApplication":
		return &yarnpb.GetNewApplicationRequestProto{}
	case "submitApplication":
		return &yarnpb.SubmitApplicationRequestProto{}
	case "getApplicationReport":
		return &yarnpb.GetApplicationReportRequestProto{}
	case "getApplications":
		return &yarnpb.GetApplicationsRequestProto{}
	case "forceKillApplication":
		return &yarnpb.KillApplicationRequestProto{}
	case "failApplicationAttempt":
		return &yarnpb.FailApplicationAttemptRequestProto{}
	case "getApplicationAttemptReport":
		return &yarnpb.GetApplicationAttemptReportRequestProto{}
	case "getApplicationAttempts":
		return &yarnpb.GetApplicationAttemptsRequestProto{}
	case "getContainerReport":
		return &yarnpb.GetContainerReportRequestProto{}
	case "getContainers":
		return &yarnpb.GetContainersRequestProto{}
	case "getClusterMetrics":
		return &yarnpb.GetClusterMetricsRequestProto{}
	case "getClusterNodes":
		return &yarnpb.GetClusterNodesRequestProto{}
	case "getQueueInfo":
		return &yarnpb.GetQueueInfoRequestProto{}
	case "getQueueUserAcls":
		return &yarnpb.GetQueueUserAclsInfoRequestProto{}
	case "getDelegationToken":
		return &commonpb.GetDelegationTokenRequestProto{}
	case "renewDelegationToken":
		return &commonpb.RenewDelegationTokenRequestProto{}
	case "cancelDelegationToken":
		return &commonpb.CancelDelegationTokenRequestProto{}
	default:
		return nil
	}
}

func masterRequest(method string) proto.Message {
	switch method {
	case "registerApplicationMaster":
		return &yarnpb.RegisterApplicationMasterRequestProto{}
	case "allocate":
		return &yarnpb.AllocateRequestProto{}
	case "finishApplicationMaster":
		return &yarnpb.FinishApplicationMasterRequestProto{}
	default:
		return nil
	}
}

func nodeRequest(method string) proto.Message {
	switch method {
	case "startContainers":
		return &yarnpb.StartContainersRequestProto{}
	case "stopContainers":
		return &yarnpb.StopContainersRequestProto{}
	case "getContainerStatuses":
		return &yarnpb.GetContainerStatusesRequestProto{}
	case "signalToContainer":
		return &yarnpb.SignalContainerRequestProto{}
	default:
		return nil
	}
}

// decode reads the request of a method. message is the empty request, or nil for an unknown
// method.
func decode(method string, message proto.Message, request []byte) error {
	if message == nil {
		return &Exception{Class: "org.apache.hadoop.ipc.RpcNoSuchMethodException", Message: "Unknown method " + method}
	}
	if err := proto.Unmarshal(request, message); err != nil {
		return fmt.Errorf("decode request of %s: %w", method, err)
	}
	return nil
}

// answer returns the answer to a call. Equal messages have equal bytes.
func answer(message proto.Message, err error) Answer {
	if err == nil {
		var response []byte
		if response, err = (proto.MarshalOptions{Deterministic: true}).Marshal(message); err == nil {
			return Answer{Response: response}
		}
	}
	if e, is := errors.AsType[*Exception](err); is {
		return Answer{Exception: e}
	}
	return Answer{Exception: &Exception{Class: "java.io.IOException", Message: err.Error()}}
}

// Exception is a Java exception, the answer to a call that fails.
type Exception struct{ Class, Message string }

// Error returns the class and the message.
func (e *Exception) Error() string { return e.Class + ": " + e.Message }

const (
	classInvalidToken  = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	classAccessControl = "org.apache.hadoop.security.AccessControlException"
)

// exception returns an exception of YARN.
func exception(name, format string, args ...any) error {
	return &Exception{Class: "org.apache.hadoop.yarn.exceptions." + name, Message: fmt.Sprintf(format, args...)}
}
