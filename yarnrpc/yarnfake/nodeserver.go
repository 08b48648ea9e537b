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

// Serve answers on the connections of a listener, until Close. It closes the listener.
func (s *NodeServer) Serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.server.Serve(conn)
	}
}

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
		return answered(call, s.start)
	case "stopContainers":
		return answered(call, s.stop)
	case "getContainerStatuses":
		return answered(call, s.status)
	}
	return nil, rpctest.NoSuchMethod(call)
}

// answered decodes a call's request and answers it.
func answered[R any, P interface {
	*R
	proto.Message
}](call *rpctest.Call, answer func(P) proto.Message) (proto.Message, error) {
	request := P(new(R))
	if err := call.Decode(request); err != nil {
		return nil, err
	}
	return answer(request), nil
}

func (s *NodeServer) start(r *yarnpb.StartContainersRequestProto) proto.Message {
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
	return response
}

func (s *NodeServer) stop(r *yarnpb.StopContainersRequestProto) proto.Message {
	response := new(yarnpb.StopContainersResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		if err := s.Stop(id); err != nil {
			response.FailedRequests = append(response.FailedRequests, failed(id, err))
			continue
		}
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id))
	}
	return response
}

func (s *NodeServer) status(r *yarnpb.GetContainerStatusesRequestProto) proto.Message {
	response := new(yarnpb.GetContainerStatusesResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		status, err := s.Status(id)
		if err != nil {
			response.FailedRequests = append(response.FailedRequests, failed(id, err))
			continue
		}
		response.Status = append(response.Status, pbconv.ContainerStatusProto(status))
	}
	return response
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
