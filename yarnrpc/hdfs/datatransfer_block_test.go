package hdfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

const chunkSize = 512 // dfs.bytes-per-checksum

// readable is the answer to a read of a block with such checksums.
func readable(t testing.TB, kind hdfspb.ChecksumTypeProto, chunk uint32) []byte {
	t.Helper()
	return delimited(t, &hdfspb.BlockOpResponseProto{
		Status: hdfspb.Status_SUCCESS.Enum(),
		ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{
			Checksum:    &hdfspb.ChecksumProto{Type: kind.Enum(), BytesPerChecksum: proto.Uint32(chunk)},
			ChunkOffset: proto.Uint64(0),
		},
	})
}

func delimited(t testing.TB, m proto.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := protodelim.MarshalTo(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packet returns data in the form of a DataNode. Without data it is the last packet of a
// block.
func packet(t testing.TB, offset int, data []byte) []byte {
	t.Helper()
	header, err := proto.Marshal(&hdfspb.PacketHeaderProto{
		OffsetInBlock: proto.Int64(int64(offset)), Seqno: proto.Int64(int64(offset)),
		LastPacketInBlock: proto.Bool(len(data) == 0), DataLen: proto.Int32(int32(len(data))),
	})
	if err != nil {
		t.Fatal(err)
	}
	var sums []byte
	for rest := data; len(rest) > 0; rest = rest[min(len(rest), chunkSize):] {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(rest[:min(len(rest), chunkSize)], crc32.MakeTable(crc32.Castagnoli)))
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(header)))
	return bytes.Join([][]byte{b, header, sums, data}, nil)
}

// packets returns the packets of a block.
func packets(t testing.TB, content []byte) [][]byte {
	t.Helper()
	const length = 64 << 10
	var all [][]byte
	for offset := 0; offset < len(content); offset += length {
		all = append(all, packet(t, offset, content[offset:min(len(content), offset+length)]))
	}
	return append(all, packet(t, len(content), nil))
}

// tell answers the operation with that code, and closes the connection.
func tell(conn net.Conn, code byte, answer []byte) error {
	head := make([]byte, opPrefix)
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	if head[2] != code {
		return fmt.Errorf("operation %d", head[2])
	}
	if err := protodelim.UnmarshalFrom(unbuffered{conn}, new(emptypb.Empty)); err != nil { // which accepts any message
		return err
	}
	if len(answer) == 0 { // because a pipe would pass on the empty write
		return nil
	}
	_, err := conn.Write(answer)
	return err
}

// oneFile is a NameNode with only one file. The file has one block on the DataNodes.
func oneFile(content []byte, dataNodes ...string) *rpctest.Server {
	block := located(0, uint64(len(content)), false, dataNodes...)
	for i, node := range block.Locs {
		node.Id.IpAddr, node.Id.XferPort = proto.String(dataNodes[i]), proto.Uint32(9866)
	}
	return &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		switch call.Call.Method {
		case methodGetFileInfo:
			return &hdfspb.GetFileInfoResponseProto{Fs: someFile("me", len(content))}, nil
		case methodServerDefaults:
			return &hdfspb.GetServerDefaultsResponseProto{ServerDefaults: serverDefaults(false)}, nil
		case methodGetBlockLocations:
			return &hdfspb.GetBlockLocationsResponseProto{Locations: &hdfspb.LocatedBlocksProto{
				FileLength: proto.Uint64(uint64(len(content))), Blocks: []*hdfspb.LocatedBlockProto{block},
				UnderConstruction: proto.Bool(false), IsLastBlockComplete: proto.Bool(true),
			}}, nil
		default:
			return nil, rpctest.NoSuchMethod(call)
		}
	}}
}

// The library returns bytes that do not match their checksum, and bytes of incomplete
// packets. It asks a DataNode that closes the connection between two packets again, for
// ever.
func TestABlockIsReadRightOrNotAtAll(t *testing.T) {
	t.Parallel()
	content := pattern(t, 200_003)
	for name, spoil := range map[string]func(all [][]byte) [][]byte{
		"a byte is another":         func(all [][]byte) [][]byte { all[1][60_000] ^= 1; return all },
		"and the packet breaks off": func(all [][]byte) [][]byte { all[1][60_000] ^= 1; return [][]byte{all[0], all[1][:65_000]} },
		"the last byte is another":  func(all [][]byte) [][]byte { all[3][len(all[3])-1] ^= 1; return all },
		"a checksum is another":     func(all [][]byte) [][]byte { all[2][40] ^= 1; return all },
		"it ends between packets":   func(all [][]byte) [][]byte { return all[:2] },
		"nothing comes":             func([][]byte) [][]byte { return nil },
	} {
		for _, others := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d other DataNodes", name, others), func(t *testing.T) {
				t.Parallel()
				spoiled, fine := t.Name()+" bad", t.Name()+" good" // the library remembers failed DataNodes
				answers := map[string][][]byte{spoiled + ":9866": spoil(packets(t, content)), fine + ":9866": packets(t, content)}
				nameNode := oneFile(content, []string{spoiled, fine}[:1+others]...).Listen(t)
				var dataNodes sync.WaitGroup
				t.Cleanup(dataNodes.Wait)
				client := library(t, DialerOptions{Addresses: []string{nameNode}, RPC: yarnrpc.Options{
					Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}},
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						if address == nameNode {
							return new(net.Dialer).DialContext(ctx, network, address)
						}
						near, far := net.Pipe()
						dataNodes.Go(func() {
							defer far.Close()
							answer := append([][]byte{readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, chunkSize)}, answers[address]...)
							if err := tell(far, opReadBlock, bytes.Join(answer, nil)); err != nil && !gone(err) {
								t.Error(err)
							}
						})
						return near, nil
					},
				}})
				got, err := client.ReadFile("/file")
				if !bytes.HasPrefix(content, got) {
					t.Error("other bytes were read than were written")
				}
				if others > 0 && (err != nil || len(got) != len(content)) {
					t.Errorf("%d of %d bytes were read: %v", len(got), len(content), err)
				}
				if others == 0 && (err == nil || !strings.Contains(err.Error(), spoiled)) {
					t.Errorf("error is %v, want one that names %s", err, spoiled)
				}
			})
		}
	}
}

// A DataNode treats the operation as a login and closes the connection. An EOF alone gives
// the user no remedy.
func TestADataNodeThatHangsUpAtOnceMayWantALogin(t *testing.T) {
	t.Parallel()
	op := operation(t, opReadBlock, nil)
	answer := readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_NULL, chunkSize)
	const remedy = "dfs.data.transfer.protection"
	for name, tc := range map[string]struct {
		says []byte
		want bool
	}{"at once": {nil, true}, "after an answer": {answer, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn, err := connect(t, DataTransfer{}, "dn:9866", func(conn net.Conn) error { return tell(conn, opReadBlock, tc.says) })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(op); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if !bytes.Equal(got, tc.says) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "dn:9866") || strings.Contains(err.Error(), remedy) != tc.want {
				t.Errorf("read %d bytes, and error %v", len(got), err)
			}
			if _, again := conn.Read(make([]byte, 1)); !errors.Is(again, err) {
				t.Errorf("the next read: %v", again)
			}
		})
	}
	t.Run("with bytes unread", func(t *testing.T) { // then the connection is reset
		t.Parallel()
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := listener.Accept(); err == nil {
				io.ReadFull(conn, make([]byte, 4))
				conn.Close()
			}
		}()
		d := NewDialer(DialerOptions{})
		defer d.Close()
		conn, err := d.DialDataNode(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(op); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !hungUp(err) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("error is %v", err)
		}
		<-done
	})
}

// Each would make the library allocate memory without end, divide by zero, or lose its
// position in the stream.
func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	crc := readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, chunkSize)
	good := packet(t, 0, pattern(t, 1000))
	with := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return append(bytes.Clone(crc), b...)
	}
	for name, tc := range map[string]struct {
		says []byte
		want error
	}{
		"no checksums":       {delimited(t, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum()}), errPacket},
		"chunks of nothing":  {readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_NULL, 0), errPacket},
		"a negative length":  {with(func(b []byte) { binary.BigEndian.PutUint32(b, 3) }), errPacket},
		"a gigabyte":         {with(func(b []byte) { binary.BigEndian.PutUint32(b, 1<<30) }), errPacket},
		"a byte too few":     {with(func(b []byte) { binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)-1) }), errPacket},
		"a byte too many":    {append(with(func(b []byte) { binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)+1) }), 'x'), errPacket},
		"no header":          {with(func(b []byte) { b[6] = 0xff }), errPacket},
		"another checksum":   {with(func(b []byte) { b[len(b)-1] ^= 1 }), ErrChecksum},
		"half a packet":      {with(func([]byte) {})[:len(crc)+100], io.ErrUnexpectedEOF},
		"half an answer":     {crc[:3], io.ErrUnexpectedEOF},
		"a very long answer": {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, nil},
	} {
		s := blockStream{from: bytes.NewReader(tc.says)}
		got, err := readUntil(&s)
		if err == nil || errors.Is(err, io.EOF) || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: error is %v, want %v", name, err, tc.want)
		}
		if len(got) > len(crc) {
			t.Errorf("%s: %d bytes are given out", name, len(got))
		}
	}
}

// readUntil reads until an error or io.EOF.
func readUntil(r io.Reader) (got []byte, err error) {
	b := make([]byte, 100)
	for {
		n, err := r.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			return got, err
		}
	}
}

// The library would leave a connection open for each DataNode that refuses a block, until
// the silence limit.
func TestARefusedReadEndsItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refusal := delimited(t, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR_ACCESS_TOKEN.Enum(), Message: proto.String("no")})
		ended := make(chan error, 1) // one connection
		_, conn, err := connect(t, DataTransfer{}, "dn:9866", func(conn net.Conn) error {
			if err := tell(conn, opReadBlock, refusal); err != nil {
				return err
			}
			_, err := conn.Read(make([]byte, 1))
			ended <- err
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := conn.Write(operation(t, opReadBlock, nil)); err != nil {
			t.Fatal(err)
		}
		if err := expect(conn, refusal); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, io.EOF) || time.Since(began) > 0 {
			t.Errorf("the DataNode reads after %s: %v", time.Since(began), err)
		}
	})
}

// It would catch a stream that loses its position after a refusal or after the end of a
// block, and checksums of one kind that are read as another kind.
func TestAnswersAreGivenOutAsTheyCame(t *testing.T) {
	t.Parallel()
	refusal := delimited(t, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR_ACCESS_TOKEN.Enum(), Message: proto.String("no")})
	block := append([][]byte{readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, chunkSize)}, packets(t, pattern(t, 150_000))...)
	unchecked := []byte("\x00\x00\x00\x07\x00\x19\x09\x00\x00\x00\x00\x00\x00\x00\x00\x11\x00\x00\x00\x00\x00\x00\x00\x00\x18\x01\x25\x03\x00\x00\x00abc")
	none := append(readable(t, hdfspb.ChecksumTypeProto_CHECKSUM_NULL, chunkSize), unchecked...)
	says := bytes.Join([][]byte{bytes.Join(block, nil), refusal, none, bytes.Join(block, nil)}, nil)
	got, err := readUntil(&blockStream{from: bytes.NewReader(says)})
	if !bytes.Equal(got, says) || !errors.Is(err, io.EOF) {
		t.Errorf("%d of %d bytes are given out: %v", len(got), len(says), err)
	}
}

// FuzzBlockStream reads arbitrary bytes as the answer to a read. It would catch bytes that
// were not received, memory beyond the received bytes, and a panic.
func FuzzBlockStream(f *testing.F) {
	crc := readable(f, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, chunkSize)
	f.Add(bytes.Join(append([][]byte{crc}, packets(f, []byte("content"))...), nil))
	f.Add(append(bytes.Clone(crc), 0, 0xff, 0xff, 0xff, 0, 0))
	f.Add(delimited(f, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR.Enum()}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, says []byte) {
		s := blockStream{from: bytes.NewReader(says)}
		got, err := readUntil(&s)
		if !bytes.HasPrefix(says, got) || errors.Is(err, io.EOF) && len(got) != len(says) {
			t.Errorf("%d of %d bytes are given out: %v", len(got), len(says), err)
		}
		if limit := 2 * (len(says) + step); cap(s.piece) > limit {
			t.Errorf("%d bytes are kept of %d", cap(s.piece), len(says))
		}
	})
}
