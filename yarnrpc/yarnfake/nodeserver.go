package yarnfake

import (
	"net"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeServer answers calls to NodeManagers (ContainerManagementProtocol) that its owner has registered with a real
// ResourceManager. A Fake has servers of its own. Set the fields before the first Serve. The functions may be called
// from any goroutine; their errors reach the client as YarnExceptions.
type NodeServer struct {
	// Password returns the password of an NM token, by its identifier.
	Password func(id []byte) ([]byte, error)
	// Start starts a container. The token is the container's; Start checks its password.
	Start func(token *creds.Token, launch records.ContainerLaunchContext) error
	// Stop ends a container, and Status describes one.
	Stop   func(id records.ContainerID) error
	Status func(id records.ContainerID) (records.ContainerStatus, error)

	server rpctest.Server
}

// Serve answers on the connections of a listener, until its owner closes it.
func (s *NodeServer) Serve(listener net.Listener) { s.server.Accept(listener) }

// Init makes the server ready.
func (s *NodeServer) Init() { s.server.Handler, s.server.Passwords = s.call, s.Password }

// Close ends the connections and waits for calls. The owner closes the listeners.
func (s *NodeServer) Close() { s.server.Close() }

func (s *NodeServer) call(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ContainerManagementProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	switch call.Call.Method {
	case "startContainers":
		return rpctest.With(call, s.start)
	case "stopContainers":
		return rpctest.With(call, s.stop)
	case "getContainerStatuses":
		return rpctest.With(call, s.status)
	}
	return nil, rpctest.NoSuchMethod(call)
}

func (s *NodeServer) start(r *yarnpb.StartContainersRequestProto) (proto.Message, error) {
	response := new(yarnpb.StartContainersResponseProto)
	for _, one := range r.GetStartContainerRequest() {
		token := pbconv.Token(one.GetContainerToken())
		named, err := identifier.DecodeContainer(token)
		if err == nil {
			err = s.Start(token, pbconv.ContainerLaunchContext(one.GetContainerLaunchContext()))
		}
		if err != nil {
			response.FailedRequests = append(response.FailedRequests, failed(named.ID, err))
			continue
		}
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(named.ID))
	}
	return response, nil
}

func (s *NodeServer) stop(r *yarnpb.StopContainersRequestProto) (proto.Message, error) {
	response := new(yarnpb.StopContainersResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		if err := s.Stop(id); err != nil {
			response.FailedRequests = append(response.FailedRequests, failed(id, err))
			continue
		}
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id))
	}
	return response, nil
}

func (s *NodeServer) status(r *yarnpb.GetContainerStatusesRequestProto) (proto.Message, error) {
	response := new(yarnpb.GetContainerStatusesResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		status, err := s.Status(id)
		if err != nil {
			response.FailedRequests = append(response.FailedRequests, failed(id, err))
			continue
		}
		response.Status = append(response.Status, pbconv.ContainerStatusProto(status))
	}
	return response, nil
}

func failed(id records.ContainerID, err error) *yarnpb.ContainerExceptionMapProto {
	return &yarnpb.ContainerExceptionMapProto{
		ContainerId: pbconv.ContainerIDProto(id),
		Exception: &yarnpb.SerializedExceptionProto{
			Message:   proto.String(err.Error()),
			ClassName: proto.String("org.apache.hadoop.yarn.exceptions.YarnException"),
		},
	}
}
