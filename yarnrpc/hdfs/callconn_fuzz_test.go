package hdfs

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// callsIn returns the calls in written bytes, up to the first fault.
func callsIn(written []byte) (calls []wire.Request) {
	r := bytes.NewReader(written)
	if _, err := wire.ReadPreamble(r); err != nil {
		return nil
	}
	for {
		frame, err := wire.ReadFrame(r, wire.MaxFrame)
		if err != nil {
			return calls
		}
		request, err := wire.ParseRequest(frame)
		if err != nil {
			return calls
		}
		if request.ID >= 0 {
			calls = append(calls, request)
		}
	}
}

// inPieces reads a given number of bytes at a time.
type inPieces struct {
	io.Reader
	size int
}

func (r inPieces) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), r.size)]) }

// answerOf makes a NameNode answer with a message or, if the first byte is 1, with an exception of a given
// class.
func answerOf(says []byte, response proto.Message) error {
	if len(says) > 0 && says[0] == 1 {
		return &yarnrpc.RemoteError{Class: string(says[1:]), Message: "no\n\tat NameNode"}
	}
	return proto.Unmarshal(says, response)
}

// FuzzCallConn writes arbitrary calls of a library, and reads the answers, both in pieces. The NameNode
// gives each call the same answer. It would catch an answer to the wrong call, a call that is made twice or
// gets no answer, and a crash.
func FuzzCallConn(f *testing.F) {
	opening, err := wire.AppendContext(wire.AppendPreamble(nil, wire.AuthNone), wire.Context{ClientID: []byte("client"), User: "me"})
	if err != nil {
		f.Fatal(err)
	}
	call := func(b []byte, method string, request proto.Message) []byte {
		b, err := wire.AppendCall(b, wire.Call{ID: int32(len(b)), ClientID: []byte("client"), Method: method}, request)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	says := func(answer proto.Message) []byte {
		b, err := proto.Marshal(answer)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	asked := &hdfspb.GetBlockLocationsRequestProto{Src: proto.String("/f"), Offset: proto.Uint64(0), Length: proto.Uint64(9)}
	completing := &hdfspb.CompleteRequestProto{Src: proto.String("/f"), ClientName: proto.String("client"), FileId: proto.Uint64(1)}
	coded := someFile("me", 7)
	coded.EcPolicy = &hdfspb.ErasureCodingPolicyProto{Id: proto.Uint32(1)}
	f.Add(call(call(opening, methodGetBlockLocations, asked), methodGetFileInfo, asked), says(&hdfspb.GetFileInfoResponseProto{Fs: someFile("me", 7)}), uint8(3))
	f.Add(call(call(call(opening, methodRenewLease, asked), methodCreate, asked), methodRenewLease, asked), says(&hdfspb.CreateResponseProto{Fs: coded}), uint8(1))
	f.Add(call(call(opening, methodComplete, completing), methodAppend, asked), says(&hdfspb.CompleteResponseProto{Result: proto.Bool(true)}), uint8(200))
	f.Add(call(opening, methodAddBlock, asked), []byte("\x01org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"), uint8(0))
	f.Add(call(opening, methodCreate, asked), []byte("\x01"+unknownCryptoVersion), uint8(0))
	f.Add([]byte("hrpc\x09\x00\x00\xff\xff\xff\xff"), []byte(nil), uint8(7))
	f.Fuzz(func(t *testing.T, written, says []byte, piece uint8) {
		synctest.Test(t, func(t *testing.T) {
			made := make(map[string]int)
			c := newCallConn(t.Context(), callerFunc(func(method string, _, response proto.Message) error {
				made[method]++
				return answerOf(says, response)
			}), newDataNodes(false), "nn")
			defer c.Close()
			size := int(piece)%64 + 1
			for rest := written; len(rest) > 0; {
				n, err := c.Write(rest[:min(size, len(rest))])
				if err != nil {
					break
				}
				rest = rest[n:]
			}
			calls := callsIn(written)
			if len(c.calls) != len(calls) || len(made) > 0 {
				t.Fatalf("%d calls are to be made and %v are, of %d", len(c.calls), made, len(calls))
			}
			for i, asked := range calls {
				clear(made)
				frame, err := wire.ReadFrame(inPieces{c, size}, wire.MaxFrame)
				most := 1
				if asked.Call.Method == methodAddBlock {
					most += followingBlockRetries
				}
				if n := made[asked.Call.Method]; n > most || n == 0 && err == nil && asked.Call.Method != methodRenewLease {
					t.Errorf("call %d, %s, is made %d times: %v", i, asked.Call.Method, n, err)
				}
				if err != nil {
					continue // of this call alone
				}
				response, err := wire.ParseResponse(frame)
				if err != nil || response.CallID != asked.ID || !bytes.Equal(response.ClientID, asked.Call.ClientID) {
					t.Errorf("call %d of %q is answered as %d of %q: %v", asked.ID, asked.Call.ClientID, response.CallID, response.ClientID, err)
				}
			}
			clear(made)
			if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || len(made) > 0 {
				t.Errorf("%d bytes follow the last answer, %v, and %v is called", n, err, made)
			}
		})
	})
}
