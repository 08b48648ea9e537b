package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// callerFunc answers every call.
type callerFunc func(method string, request, response proto.Message) error

func (f callerFunc) Call(_ context.Context, method string, request, response proto.Message) error {
	return f(method, request, response)
}

// With hosts in another order, readers would miss the nearest replica.
func TestLocateAsksForTheRangeAndKeepsTheOrderOfHosts(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(method string, request, response proto.Message) error {
		asked := request.(*hdfspb.GetBlockLocationsRequestProto)
		if method != "getBlockLocations" || asked.GetSrc() != "/f" || asked.GetOffset() != 7 || asked.GetLength() != 100 {
			t.Errorf("asked %s %v", method, asked)
		}
		proto.Merge(response, &hdfspb.GetBlockLocationsResponseProto{Locations: &hdfspb.LocatedBlocksProto{
			FileLength: proto.Uint64(130),
			Blocks: []*hdfspb.LocatedBlockProto{
				located(0, 100, false, "b", "a"),
				located(100, 30, true),
			},
			UnderConstruction:   proto.Bool(false),
			IsLastBlockComplete: proto.Bool(true),
		}})
		return nil
	}))
	got, err := nn.Locate(t.Context(), "/f", 7, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := Layout{Length: 130, Complete: true, Blocks: []Block{
		{Offset: 0, Length: 100, Hosts: []string{"b", "a"}},
		{Offset: 100, Length: 30, Corrupt: true},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Block{})); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
}

func located(offset, length uint64, corrupt bool, hosts ...string) *hdfspb.LocatedBlockProto {
	b := &hdfspb.LocatedBlockProto{
		B: &hdfspb.ExtendedBlockProto{
			PoolId: proto.String("p"), BlockId: proto.Uint64(offset), GenerationStamp: proto.Uint64(1), NumBytes: &length,
		},
		Offset:  &offset,
		Corrupt: &corrupt,
		BlockToken: &commonpb.TokenProto{
			Identifier: []byte{}, Password: []byte{}, Kind: proto.String(""), Service: proto.String(""),
		},
	}
	for _, host := range hosts {
		b.Locs = append(b.Locs, &hdfspb.DatanodeInfoProto{Id: &hdfspb.DatanodeIDProto{
			IpAddr: proto.String("10.0.0.1"), HostName: proto.String(host), DatanodeUuid: proto.String(host),
			XferPort: proto.Uint32(1), InfoPort: proto.Uint32(2), IpcPort: proto.Uint32(3),
		}})
	}
	return b
}

// OVERWRITE would remove a file that another client has put there.
func TestRenameAsksForATargetThatIsFree(t *testing.T) {
	t.Parallel()
	answer := error(nil)
	nn := NewNameNode(callerFunc(func(method string, request, _ proto.Message) error {
		asked := request.(*hdfspb.Rename2RequestProto)
		if method != "rename2" || asked.GetSrc() != "/from" || asked.GetDst() != "/to" || asked.GetOverwriteDest() {
			t.Errorf("asked %s %v", method, asked)
		}
		return answer
	}))
	if err := nn.Rename(t.Context(), "/from", "/to"); err != nil {
		t.Error(err)
	}
	for class, want := range map[string]error{
		"org.apache.hadoop.fs.FileAlreadyExistsException": fs.ErrExist,
		"java.io.FileNotFoundException":                   fs.ErrNotExist,
	} {
		answer = &yarnrpc.RemoteError{Class: class, Message: "no"}
		if err := nn.Rename(t.Context(), "/from", "/to"); !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", class, err, want)
		}
	}
}

// It would catch a file that keeps fewer replicas than its writer believes.
func TestSetReplicationTellsWhetherThereIsAFile(t *testing.T) {
	t.Parallel()
	there := true
	nn := NewNameNode(callerFunc(func(method string, request, response proto.Message) error {
		asked := request.(*hdfspb.SetReplicationRequestProto)
		if method != "setReplication" || asked.GetSrc() != "/f" || asked.GetReplication() != 3 {
			t.Errorf("asked %s %v", method, asked)
		}
		response.(*hdfspb.SetReplicationResponseProto).Result = &there
		return nil
	}))
	if err := nn.SetReplication(t.Context(), "/f", 3); err != nil {
		t.Error(err)
	}
	there = false
	if err := nn.SetReplication(t.Context(), "/f", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want fs.ErrNotExist", err)
	}
}

func TestLocateOfAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(string, proto.Message, proto.Message) error { return nil }))
	if _, err := nn.Locate(t.Context(), "/f", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want fs.ErrNotExist", err)
	}
}
