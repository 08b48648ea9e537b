package hdfs

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// TestTheAnswerToAWriteIsObserved would catch DataNodes that refuse a block, or do not answer, and count as ready for it; an answer
// that counts for each part of it; and one that is as long as the DataNode likes in memory.
func TestTheAnswerToAWriteIsObserved(t *testing.T) {
	t.Parallel()
	ready := delimited(t, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), FirstBadLink: proto.String("")})
	refused := delimited(t, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR_ACCESS_TOKEN.Enum(), Message: proto.String("no")})
	for name, test := range map[string]struct {
		code   byte
		answer []byte
		want   int // transfers
		ready  bool
		err    error
	}{
		"ready":              {opWriteBlock, slices.Concat(ready, make([]byte, maxAnswer)), 1, true, nil},
		"refused":            {opWriteBlock, refused, 1, false, errNotReady},
		"half an answer":     {opWriteBlock, refused[:len(refused)/2], 1, false, io.ErrUnexpectedEOF},
		"nothing":            {opWriteBlock, nil, 1, false, io.ErrUnexpectedEOF},
		"too long an answer": {opWriteBlock, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3}, 1, false, nil},
		"of another request": {opBlockChecksum, ready, 0, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []Transfer
			d := serve(t, DataTransfer{}, func(conn net.Conn) error { return tell(conn, test.code, test.answer) })
			d.options.Observe = func(transfer Transfer) { seen = append(seen, transfer) }
			conn, err := d.DialDataNode(t.Context(), "tcp", "dn:9866")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(operation(t, test.code, nil)); err != nil {
				t.Fatal(err)
			}
			for b := make([]byte, 5); err == nil; _, err = conn.Read(b) {
				if blocks, is := conn.(*blockConn); is && len(blocks.answer) > maxAnswer {
					t.Fatalf("%d bytes are kept", len(blocks.answer))
				}
			}
			if len(seen) != test.want {
				t.Fatalf("seen are %+v", seen)
			}
			for _, transfer := range seen {
				if !transfer.Write || transfer.Address != "dn:9866" || transfer.Later || transfer.Took < 0 ||
					(transfer.Err == nil) != test.ready || test.err != nil && !errors.Is(transfer.Err, test.err) {
					t.Errorf("seen is %+v", transfer)
				}
			}
		})
	}
}
