package hdfs

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// FuzzBlockReader reads arbitrary answers of a DataNode. It would catch more bytes than requested, a
// panic, a hang, and memory beyond the received bytes.
func FuzzBlockReader(f *testing.F) {
	crc := readable(f, hdfspb.ChecksumTypeProto_CHECKSUM_CRC32C, chunkSize)
	content := pattern(f, 1500)
	f.Add(append(bytes.Clone(crc), bytes.Join(packets(f, content), nil)...), int64(700), int64(1500))
	f.Add(append(bytes.Clone(crc), packet(f, 512, content[512:])...), int64(0), int64(1500)) // it begins too late
	f.Add(append(bytes.Clone(crc), packet(f, 0, content[:512])...), int64(600), int64(1500)) // or too early
	f.Add(append(bytes.Clone(crc), packet(f, 0, nil)...), int64(0), int64(10))
	f.Add(delimited(f, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR_ACCESS_TOKEN.Enum()}), int64(0), int64(10))
	f.Add([]byte{}, int64(0), int64(10))
	f.Fuzz(func(t *testing.T, says []byte, offset, length int64) {
		length = min(max(length, 1), 1<<20)
		offset = min(max(offset, 0), length-1)
		var dataNode sync.WaitGroup
		defer dataNode.Wait()
		d := NewDialer(DialerOptions{RPC: yarnrpc.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			dataNode.Go(func() { _, _ = io.Copy(io.Discard, far) }) // ends with the connection
			dataNode.Go(func() {
				_, _ = far.Write(says) // unless the reader has had enough
				far.Close()
			})
			return near, nil
		}}})
		defer d.Close()
		d.transfer.known.Store(true)
		block := located(0, uint64(length), false, "node")
		r := d.ReadBlock(t.Context(), Block{Length: length, located: block}, offset)
		defer r.Close()
		got, err := io.ReadAll(r)
		if int64(len(got)) > length-offset || err == nil && int64(len(got)) != length-offset {
			t.Errorf("%d bytes of %d from %d, %v", len(got), length, offset, err)
		}
	})
}
