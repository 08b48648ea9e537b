package kerberos

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// operationsFollow reads a file of one block three times over one connection to a DataNode. It
// would catch a second login, and wrappers that lose their position between operations.
func operationsFollow(t *testing.T, c *cluster.Cluster, dialer *hdfs.Dialer, file string, want []byte) {
	t.Helper()
	block := firstBlock(t, c, file)
	conn, err := dialer.DialDataNode(t.Context(), "tcp", addressOf(block))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for n := range 3 {
		if _, err := conn.Write(operation(t, opReadBlock, block)); err != nil {
			t.Fatal(err)
		}
		got, err := blockContent(answers)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d gives %x, want %x: %v", n, got, want, err)
		}
		checksumIsFine := []byte{2, 8, 6} // ClientReadStatusProto; without it the DataNode accepts no further operation
		if _, err := conn.Write(checksumIsFine); err != nil {
			t.Fatal(err)
		}
	}
}

// blockContent reads a DataNode's answer to a read: its status, then packets, of which the last is
// empty.
func blockContent(r *bufio.Reader) (content []byte, err error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	status, err := take(r, int(length))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(status, []byte{8, 0}) { // SUCCESS
		return nil, fmt.Errorf("answer %q", status)
	}
	for {
		lengths, err := take(r, 4+2) // length of the packet without its header, and of the header
		if err != nil {
			return nil, err
		}
		header, err := take(r, int(binary.BigEndian.Uint16(lengths[4:])))
		if err != nil {
			return nil, err
		}
		rest, err := take(r, int(binary.BigEndian.Uint32(lengths))-4)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(header, []byte{3 << 3, 1}) { // lastPacketInBlock
			return content, nil
		}
		content = append(content, rest[4:]...) // after one checksum
	}
}

func take(r io.Reader, n int) ([]byte, error) {
	if n < 0 || n > 1<<10 {
		return nil, fmt.Errorf("%d bytes are announced", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// expiredTokensAreRefused sends a DataNode a token that expired long ago.
func expiredTokensAreRefused(t *testing.T, c *cluster.Cluster, dialer *hdfs.Dialer, file string) {
	t.Helper()
	block := firstBlock(t, c, file)
	// The identifier begins with the milliseconds of its end: a negative length, then that number
	// of bytes.
	block.BlockToken.Identifier[1] = 0
	conn, err := dialer.DialDataNode(t.Context(), "tcp", addressOf(block))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(operation(t, opBlockChecksum, block)); !errors.Is(err, hdfs.ErrBlockToken) {
		t.Errorf("error is %v, want ErrBlockToken", err)
	}
}

func firstBlock(t *testing.T, c *cluster.Cluster, file string) *hdfspb.LocatedBlockProto {
	t.Helper()
	conn, err := yarnrpc.Dial(t.Context(), c.NameNodeAddress(), rpctest.NameNodeOptions(t, c, alice))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var located hdfspb.GetBlockLocationsResponseProto
	request := &hdfspb.GetBlockLocationsRequestProto{Src: proto.String(file), Offset: proto.Uint64(0), Length: proto.Uint64(1)}
	if err := conn.Call(t.Context(), "getBlockLocations", request, &located); err != nil {
		t.Fatal(err)
	}
	blocks := located.GetLocations().GetBlocks()
	if len(blocks) != 1 || len(blocks[0].GetLocs()) != 1 {
		t.Fatalf("%s lies at %v", file, blocks)
	}
	return blocks[0]
}

func addressOf(block *hdfspb.LocatedBlockProto) string {
	id := block.GetLocs()[0].GetId()
	return net.JoinHostPort(id.GetIpAddr(), fmt.Sprint(id.GetXferPort()))
}

// The codes of operations (datatransfer.Op).
const (
	opReadBlock     = 81
	opBlockChecksum = 85
)

// operation returns an OpReadBlockProto for all bytes, or an OpBlockChecksumProto.
func operation(t *testing.T, code byte, block *hdfspb.LocatedBlockProto) []byte {
	t.Helper()
	base := &hdfspb.BaseHeaderProto{Block: block.GetB(), Token: block.GetBlockToken()}
	var header proto.Message = base
	if code == opReadBlock {
		header = &hdfspb.ClientOperationHeaderProto{BaseHeader: base, ClientName: proto.String("a test")}
	}
	encoded, err := proto.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	message := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), encoded)
	if code == opReadBlock {
		message = protowire.AppendVarint(protowire.AppendTag(message, 2, protowire.VarintType), 0) // offset
		message = protowire.AppendVarint(protowire.AppendTag(message, 3, protowire.VarintType), block.GetB().GetNumBytes())
	}
	return protowire.AppendBytes([]byte{0, 28, code}, message)
}

// TestADataNodeOfOtherMindIsAnError would catch a client that accepts another protection than
// configured, one that waits for ever, and one that returns wrong content.
func TestADataNodeOfOtherMindIsAnError(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	name := path.Join("/tmp", fmt.Sprint(t.Name(), time.Now().UnixNano()))
	want := content("other", blockSize/2)
	good := library(t, c, "privacy", new(bobbintest.Tap))
	if err := create(good, name, want); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := good.Remove(name); err != nil {
			t.Error(err)
		}
	})
	if err := differs(good, name, want); err != nil {
		t.Error(err)
	}
	for _, protection := range []string{"authentication,integrity", ""} {
		client := library(t, c, protection, new(bobbintest.Tap))
		got, err := client.ReadFile(name)
		if err == nil || len(got) > 0 {
			t.Errorf("%q: %d bytes were read: %v", protection, len(got), err)
		}
		if protection != "" && (!errors.Is(err, sasl.ErrProtection) || !strings.Contains(err.Error(), "dfs.data.transfer.protection")) {
			t.Errorf("%q: error is %v", protection, err)
		}
		if err := create(client, name+"-2", want); err == nil {
			t.Errorf("%q: a file was written", protection)
		}
		if err := good.Remove(name + "-2"); err != nil {
			t.Error(err)
		}
	}
}
