package amrm_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// scheduler is a ResourceManager that requires encryption and the application's token.
func scheduler(handler rpctest.Handler) *rpctest.Server {
	return &rpctest.Server{
		QOPs:      []sasl.QOP{sasl.QOPPrivacy},
		Passwords: func([]byte) ([]byte, error) { return []byte("secret"), nil },
		Handler:   handler,
	}
}

// An ApplicationMaster that stays with a standby, or does not know the cluster's
// protection, never registers.
func TestTheActiveResourceManagerIsFoundUnderTheClustersProtection(t *testing.T) {
	standby := scheduler(func(*rpctest.Call) (proto.Message, error) {
		return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "not me")
	})
	active := scheduler(func(call *rpctest.Call) (proto.Message, error) {
		if call.Call.Method == "allocate" {
			return &yarnpb.AllocateResponseProto{ResponseId: proto.Int32(1)}, nil
		}
		return &yarnpb.RegisterApplicationMasterResponseProto{Queue: proto.String("root.a")}, nil
	})
	conf := new(hadoopconf.Conf).With("test", map[string]string{
		"hadoop.rpc.protection":                    "privacy",
		"yarn.resourcemanager.ha.enabled":          "true",
		"yarn.resourcemanager.ha.rm-ids":           "a,b",
		"yarn.resourcemanager.hostname.a":          "unused",
		"yarn.resourcemanager.hostname.b":          "unused",
		"yarn.resourcemanager.scheduler.address.a": standby.Listen(t),
		"yarn.resourcemanager.scheduler.address.b": active.Listen(t),
	})
	o, err := amrm.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.Token = &creds.Token{Kind: creds.KindAMRM, Identifier: []byte("attempt"), Password: []byte("secret")}
	c := amrm.New(o)
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	registration, err := c.Register(t.Context(), amrm.RegisterRequest{})
	if err != nil || registration.Queue != "root.a" {
		t.Fatalf("registered as %+v, %v", registration, err)
	}
	if _, err := c.Allocate(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if n := standby.Logins(); n != 1 {
		t.Errorf("the standby was asked over %d connections, want 1", n)
	}
}

// Without the configured retries an ApplicationMaster that starts during a fail-over
// ends with an error, and YARN counts a failed attempt.
func TestRetriesAreThoseOfTheConfiguration(t *testing.T) {
	var calls atomic.Int32
	server := scheduler(func(*rpctest.Call) (proto.Message, error) {
		if calls.Add(1) <= 3 {
			return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "not yet")
		}
		return &yarnpb.RegisterApplicationMasterResponseProto{Queue: proto.String("root.a")}, nil
	})
	conf := new(hadoopconf.Conf).With("test", map[string]string{
		"hadoop.rpc.protection":                          "privacy",
		"yarn.resourcemanager.scheduler.address":         server.Listen(t),
		"yarn.resourcemanager.connect.retry-interval.ms": "1",
	})
	o, err := amrm.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.Token = &creds.Token{Kind: creds.KindAMRM, Identifier: []byte("attempt"), Password: []byte("secret")}
	once := o
	once.Policy = yarnrpc.Policy{}
	impatient, patient := amrm.New(once), amrm.New(o)
	defer impatient.Close()
	defer patient.Close()
	if _, err := impatient.Register(t.Context(), amrm.RegisterRequest{}); !errors.Is(err, yarnrpc.ErrStandby) {
		t.Errorf("one round over the ResourceManagers ended with %v", err)
	}
	if r, err := patient.Register(t.Context(), amrm.RegisterRequest{}); err != nil || r.Queue != "root.a" {
		t.Errorf("registered as %+v, %v", r, err)
	}
}
