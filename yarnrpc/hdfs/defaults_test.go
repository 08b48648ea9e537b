package hdfs

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

func TestDefaultsOfTheNameNode(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(method string, _, response proto.Message) error {
		if method != "getServerDefaults" {
			t.Errorf("asked %s", method)
		}
		proto.Merge(response, &hdfspb.GetServerDefaultsResponseProto{ServerDefaults: &hdfspb.FsServerDefaultsProto{
			BlockSize: proto.Uint64(128 << 20), BytesPerChecksum: proto.Uint32(512), WritePacketSize: proto.Uint32(64 << 10),
			Replication: proto.Uint32(3), FileBufferSize: proto.Uint32(4096),
			EncryptDataTransfer: proto.Bool(true), KeyProviderUri: proto.String("kms://http@keys:9600/kms"),
		}})
		return nil
	}))
	got, err := nn.Defaults(t.Context())
	want := Defaults{BlockSize: 128 << 20, Replication: 3, EncryptDataTransfer: true, KeyProvider: "kms://http@keys:9600/kms"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A program that looks for the active NameNode must learn which one is not.
func TestAStandbyTellsNoDefaults(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(string, proto.Message, proto.Message) error {
		return &yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}
	}))
	if _, err := nn.Defaults(t.Context()); !errors.Is(err, yarnrpc.ErrStandby) {
		t.Errorf("got %v, want ErrStandby", err)
	}
}
