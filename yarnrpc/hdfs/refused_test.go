package hdfs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// storage is a NameNode whose files are all stored in one way. It records its calls.
type storage struct {
	encrypted *hdfspb.FileEncryptionInfoProto
	striped   *hdfspb.ErasureCodingPolicyProto
	calls     chan string
}

func encryptedFiles() *storage {
	return &storage{calls: make(chan string, 100), encrypted: &hdfspb.FileEncryptionInfoProto{
		Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum(), CryptoProtocolVersion: hdfspb.CryptoProtocolVersionProto_ENCRYPTION_ZONES.Enum(),
		Key: []byte("edek"), Iv: []byte("iv"), KeyName: proto.String("key"), EzKeyVersionName: proto.String("key@0"),
	}}
}

func stripedFiles() *storage {
	return &storage{calls: make(chan string, 100), striped: &hdfspb.ErasureCodingPolicyProto{Id: proto.Uint32(4)}}
}

func plainFiles() *storage { return &storage{calls: make(chan string, 100)} }

func (s *storage) handle(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Method == "renewLease" {
		return new(hdfspb.Rename2ResponseProto), nil
	}
	s.calls <- call.Call.Method
	status := someFile("me", 7)
	status.FileEncryptionInfo, status.EcPolicy = s.encrypted, s.striped
	switch call.Call.Method {
	case "getFileInfo":
		return &hdfspb.GetFileInfoResponseProto{Fs: status}, nil
	case "create":
		return &hdfspb.CreateResponseProto{Fs: status}, nil
	case "append":
		return &hdfspb.AppendResponseProto{Stat: status}, nil
	case methodDelete:
		var asked hdfspb.DeleteRequestProto
		if err := call.Decode(&asked); err != nil || asked.GetSrc() != "/file" || asked.GetRecursive() {
			return nil, fmt.Errorf("delete %v: %w", &asked, err)
		}
		return &hdfspb.DeleteResponseProto{Result: proto.Bool(true)}, nil
	case "getBlockLocations":
		return &hdfspb.GetBlockLocationsResponseProto{Locations: &hdfspb.LocatedBlocksProto{
			FileLength: proto.Uint64(7), UnderConstruction: proto.Bool(false), IsLastBlockComplete: proto.Bool(true),
			FileEncryptionInfo: s.encrypted, EcPolicy: s.striped,
		}}, nil
	default:
		return nil, rpctest.NoSuchMethod(call)
	}
}

// called returns the calls so far.
func (s *storage) called() (all []string) {
	for {
		select {
		case method := <-s.calls:
			all = append(all, method)
		default:
			return all
		}
	}
}

// It would catch a file that is read as ciphertext or as the cells of one DataNode, and a
// file that no other client can read.
func TestFilesThatTheLibraryCannotHandleAreRefused(t *testing.T) {
	t.Parallel()
	described := func(client *colinmarc.Client) *colinmarc.FileReader { // this is not refused
		file, err := client.Open("/file")
		if err != nil {
			t.Error(err)
		}
		return file
	}
	uses := map[string]struct {
		use  func(client *colinmarc.Client) error
		last string // last call for a refused file
	}{
		"read": {func(client *colinmarc.Client) error {
			_, err := io.ReadAll(described(client))
			return err
		}, "getBlockLocations"},
		"checksum": {func(client *colinmarc.Client) error {
			_, err := described(client).Checksum()
			return err
		}, "getBlockLocations"},
		"create": {func(client *colinmarc.Client) error {
			_, err := client.CreateFile("/file", 1, 1<<20, 0o644)
			return err
		}, methodDelete},
		"append": {func(client *colinmarc.Client) error {
			_, err := client.Append("/file")
			return err
		}, "getFileInfo"},
	}
	for name, tc := range uses {
		for kind, refused := range map[string]struct {
			files *storage
			err   error
		}{
			"encrypted": {encryptedFiles(), ErrEncryptionZone},
			"striped":   {stripedFiles(), ErrErasureCoded},
			"plain":     {plainFiles(), nil},
		} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				server := &rpctest.Server{Handler: refused.files.handle}
				client := library(t, DialerOptions{
					Addresses: []string{server.Listen(t)}, RPC: yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}}},
				})
				err := tc.use(client)
				calls := refused.files.called()
				if refused.err == nil {
					if errors.Is(err, ErrEncryptionZone) || errors.Is(err, ErrErasureCoded) || slices.Contains(calls, methodDelete) {
						t.Errorf("error is %v after %v", err, calls)
					}
					return
				}
				if !errors.Is(err, refused.err) || calls[len(calls)-1] != tc.last {
					t.Errorf("error is %v after %v, want %v after %s", err, calls, refused.err, tc.last)
				}
			})
		}
	}
}

// A NameNode's own refusal of a new file in an encryption zone is hard to understand.
func TestARefusedNewFileInAnEncryptionZoneIsExplained(t *testing.T) {
	t.Parallel()
	rpc := refusing{1, counting{}, "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"}
	if _, err := callOver(t, opened(t, rpc), "create"); !errors.Is(err, ErrEncryptionZone) {
		t.Errorf("error is %v", err)
	}
}

// The error must mention a file that could not be removed.
func TestAFileThatWasMadeAndIsLeftIsMentioned(t *testing.T) {
	t.Parallel()
	gone := errors.New("the NameNode is gone")
	rpc := callerFunc(func(method string, _, response proto.Message) error {
		if method == methodDelete {
			return gone
		}
		proto.Merge(response, &hdfspb.CreateResponseProto{Fs: &hdfspb.HdfsFileStatusProto{EcPolicy: new(hdfspb.ErasureCodingPolicyProto)}})
		return nil
	})
	request := &hdfspb.CreateRequestProto{
		Src: proto.String("/file"), Masked: &hdfspb.FsPermissionProto{Perm: proto.Uint32(0o644)}, ClientName: proto.String("client"),
		CreateFlag: proto.Uint32(1), CreateParent: proto.Bool(false), Replication: proto.Uint32(1), BlockSize: proto.Uint64(1 << 20),
	}
	_, err := callWith(t, opened(t, rpc), "create", request)
	if !errors.Is(err, ErrErasureCoded) || !errors.Is(err, gone) {
		t.Errorf("error is %v", err)
	}
}
