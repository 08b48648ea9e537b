package yarnfake

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// clientCall answers a call of ApplicationClientProtocol.
func (f *Fake) clientCall(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ApplicationClientProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	request := clientRequests()[call.Call.Method]
	if request == nil {
		return nil, rpctest.NoSuchMethod(call)
	}
	user := call.User
	if call.Token {
		d, err := identifier.DecodeDelegation(&creds.Token{Kind: creds.KindRMDelegation, Identifier: []byte(call.User)})
		if err != nil {
			return nil, err
		}
		user = d.Owner
	}
	return f.answer(call, request, true, func() (proto.Message, error) {
		reply := f.step(clientCall{user: user, request: request})
		return reply.message, reply.err
	})
}

// masterCall answers a call of ApplicationMasterProtocol.
func (f *Fake) masterCall(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ApplicationMasterProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	var request proto.Message
	switch call.Call.Method {
	case "registerApplicationMaster":
		request = new(yarnpb.RegisterApplicationMasterRequestProto)
	case "allocate":
		request = new(yarnpb.AllocateRequestProto)
	case "finishApplicationMaster":
		request = new(yarnpb.FinishApplicationMasterRequestProto)
	default:
		return nil, rpctest.NoSuchMethod(call)
	}
	id, err := identifier.DecodeAMRM(&creds.Token{Kind: creds.KindAMRM, Identifier: []byte(call.User)})
	if err != nil {
		return nil, err
	}
	return f.answer(call, request, true, func() (proto.Message, error) {
		reply := f.step(masterCall{attempt: id.Attempt, keyID: id.KeyID, request: request})
		return reply.message, reply.err
	})
}

func (f *Fake) delegationPassword(id []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.books.delegationPassword(time.Now(), id)
}

func (f *Fake) amrmPassword(id []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.books.amrmPassword(id)
}
