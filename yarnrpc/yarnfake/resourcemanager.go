package yarnfake

import (
	"crypto/rand"
	"crypto/sha1"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// clientCall answers a call of ApplicationClientProtocol.
func (f *Fake) clientCall(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ApplicationClientProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	if !books.HasClientMethod(call.Call.Method) {
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
	return f.answer(call, func(request []byte) books.Answer {
		return f.step(books.ClientCall{User: user, Method: call.Call.Method, Request: request})
	})
}

// masterCall answers a call of ApplicationMasterProtocol.
func (f *Fake) masterCall(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ApplicationMasterProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	if !books.HasMasterMethod(call.Call.Method) {
		return nil, rpctest.NoSuchMethod(call)
	}
	id, err := identifier.DecodeAMRM(&creds.Token{Kind: creds.KindAMRM, Identifier: []byte(call.User)})
	if err != nil {
		return nil, err
	}
	return f.answer(call, func(request []byte) books.Answer {
		return f.step(books.MasterCall{Attempt: id.Attempt, KeyID: id.KeyID, Method: call.Call.Method, Request: request})
	})
}

func (f *Fake) delegationPassword(id []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	password, err := f.rm.DelegationPassword(time.Now(), id)
	return password, java(err)
}

func (f *Fake) amrmPassword(id []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	password, err := f.rm.AMRMPassword(id)
	return password, java(err)
}

// java makes an exception of the books one that reaches the client as it is.
func java(err error) error {
	if e, is := errors.AsType[*books.Exception](err); is {
		return rpctest.Exception(e.Class, e.Message)
	}
	return err
}

// raw returns a message that consists of encoded bytes. Its type has no fields, so that all of them
// are unknown fields, which are kept as they are.
func raw(encoded []byte) proto.Message {
	m := new(yarnpb.SubmitApplicationResponseProto)
	m.ProtoReflect().SetUnknown(encoded)
	return m
}

func newKey(id int32) books.Key {
	secret := make([]byte, sha1.Size)
	_, _ = rand.Read(secret) // never fails
	return books.Key{ID: id, Secret: secret}
}

// newKeys makes the keys of a ResourceManager that starts without a state. Each generation has other ids: a node
// takes a key only if its id is not that of the key which it has.
func newKeys(generation int32) books.Keys {
	first := 10 * generation
	return books.Keys{
		AMRM: newKey(first + 1), NM: newKey(first + 2), Container: newKey(first + 3), Client: newKey(first + 4), Delegation: newKey(first + 5),
	}
}
