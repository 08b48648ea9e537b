package yarnfake_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// identified makes a token from the message of its identifier.
func identified(t *testing.T, key books.Key, kind, service string, id proto.Message) *creds.Token {
	t.Helper()
	b, err := proto.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	return &creds.Token{Identifier: b, Password: key.Password(b), Kind: kind, Service: service}
}

// TestANodeServerAnswersApplicationMasters would catch a login with a forged token, containers that start with another
// launch context or token, and refusals that the client does not see.
func TestANodeServerAnswersApplicationMasters(t *testing.T) {
	t.Parallel()
	key := books.Key{ID: 7, Secret: []byte("of a test")}
	refused := errors.New("not on this node")
	var started []string
	server := &yarnfake.NodeServer{
		Password: func(id []byte) ([]byte, error) { return key.Password(id), nil },
		Start: func(token *creds.Token, launch records.ContainerLaunchContext) error {
			started = append(started, string(token.Password)+strings.Join(launch.Commands, " "))
			return nil
		},
		Stop: func(records.ContainerID) error { return refused },
		Status: func(id records.ContainerID) (records.ContainerStatus, error) {
			return records.ContainerStatus{ID: id, State: records.ContainerRunning, ExitStatus: records.ExitUnknown}, nil
		},
	}
	server.Init()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	node, err := records.ParseNodeID(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	app := &yarnpb.ApplicationIdProto{Id: proto.Int32(1), ClusterTimestamp: proto.Int64(1)}
	attempt := &yarnpb.ApplicationAttemptIdProto{ApplicationId: app, AttemptId: proto.Int32(1)}
	place := &yarnpb.NodeIdProto{Host: proto.String(node.Host), Port: proto.Int32(int32(node.Port))}
	login := func(key books.Key) *creds.Token {
		return identified(t, key, creds.KindNM, node.String(), &yarnpb.NMTokenIdentifierProto{AppAttemptId: attempt, NodeId: place, AppSubmitter: proto.String("alice"), KeyId: proto.Int32(7)})
	}
	id := records.ContainerID{Attempt: records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, ID: 2}
	container := records.Container{ID: id, Node: node, Token: identified(t, key, creds.KindContainer, node.String(), &yarnpb.ContainerTokenIdentifierProto{
		ContainerId: &yarnpb.ContainerIdProto{AppId: app, AppAttemptId: attempt, Id: proto.Int64(2)}, NmHostAddr: proto.String(node.String()), MasterKeyId: proto.Int32(7),
	})}
	for _, test := range []struct {
		name   string
		key    books.Key
		forged bool
	}{{name: "forged", key: books.Key{ID: 7, Secret: []byte("another")}, forged: true}, {name: "true", key: key}} {
		client := nmclient.New(nmclient.Options{})
		client.SetTokens(map[records.NodeID]*creds.Token{node: login(test.key)})
		err := client.Start(t.Context(), container, records.ContainerLaunchContext{Commands: []string{"true"}})
		if test.forged != errors.Is(err, yarnrpc.ErrInvalidToken) || !test.forged && err != nil {
			t.Errorf("%s token: start gives %v", test.name, err)
		}
		if err == nil {
			if found, err := client.Statuses(t.Context(), node, id); err != nil || len(found) != 1 || found[0].State != records.ContainerRunning {
				t.Errorf("statuses are %+v, %v", found, err)
			}
			if err := client.Stop(t.Context(), node, id); err == nil || !strings.Contains(err.Error(), refused.Error()) {
				t.Errorf("stop gives %v, want the refusal", err)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	server.Close()
	<-served
	if want := string(container.Token.Password) + "true"; len(started) != 1 || started[0] != want {
		t.Errorf("started %q, want %q", started, want)
	}
}
