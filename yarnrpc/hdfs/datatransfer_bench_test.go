package hdfs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"hash/crc32"
	"io"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// endless returns the same bytes for ever, and accepts all writes.
type endless struct {
	net.Conn
	bytes []byte
	next  int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.bytes[e.next:])
	e.next = (e.next + n) % len(e.bytes)
	return n, nil
}

func (e *endless) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkTransfer measures the cost of protection for each packet of 64 KiB.
func BenchmarkTransfer(b *testing.B) {
	packet := make([]byte, 64<<10+40)
	layer := func(b *testing.B, qop sasl.QOP, cipher string) sasl.Layer {
		client, _ := layers(b, qop, cipher)
		return client
	}
	for name, open := range map[string]func(b *testing.B) net.Conn{
		"integrity": func(b *testing.B) net.Conn {
			return &wrappedConn{Conn: &endless{}, layer: layer(b, sasl.QOPIntegrity, "")}
		},
		"privacy-rc4": func(b *testing.B) net.Conn {
			return &wrappedConn{Conn: &endless{}, layer: layer(b, sasl.QOPPrivacy, "rc4")}
		},
		"privacy-3des": func(b *testing.B) net.Conn {
			return &wrappedConn{Conn: &endless{}, layer: layer(b, sasl.QOPPrivacy, "3des")}
		},
		"privacy-aes": func(b *testing.B) net.Conn { return benchCipher(b, &endless{}) },
	} {
		b.Run("write-"+name, func(b *testing.B) {
			conn := open(b)
			b.SetBytes(int64(len(packet)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(packet); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, choice := range map[string]struct {
		qop    sasl.QOP
		cipher string
	}{"integrity": {sasl.QOPIntegrity, ""}, "privacy-rc4": {sasl.QOPPrivacy, "rc4"}, "privacy-3des": {sasl.QOPPrivacy, "3des"}} {
		b.Run("read-"+name, func(b *testing.B) {
			client, server := layers(b, choice.qop, choice.cipher)
			var wire bytes.Buffer
			from, to := &wrappedConn{Conn: sink{Writer: &wire}, layer: server}, &wrappedConn{Conn: sink{Reader: &wire}, layer: client}
			got := make([]byte, len(packet))
			b.SetBytes(int64(len(packet)))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				if _, err := from.Write(packet); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := io.ReadFull(to, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("read-privacy-aes", func(b *testing.B) {
		conn := benchCipher(b, &endless{bytes: packet})
		got := make([]byte, len(packet))
		b.SetBytes(int64(len(packet)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := io.ReadFull(conn, got); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBlockStream measures the cost of checksums for each packet of 64 KiB.
func BenchmarkBlockStream(b *testing.B) {
	one := packet(b, 0, make([]byte, 64<<10))
	s := blockStream{from: &endless{bytes: one}, sums: &checksums{chunk: chunkSize, table: crc32.MakeTable(crc32.Castagnoli)}}
	got := make([]byte, len(one))
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.ReadFull(&s, got); err != nil {
			b.Fatal(err)
		}
	}
}

// sink is a connection of one direction.
type sink struct {
	net.Conn
	io.Reader
	io.Writer
}

func (s sink) Read(b []byte) (int, error)  { return s.Reader.Read(b) }
func (s sink) Write(b []byte) (int, error) { return s.Writer.Write(b) }

func benchCipher(b *testing.B, conn net.Conn) net.Conn {
	b.Helper()
	block, err := aes.NewCipher(make([]byte, 16)) // dfs.encrypt.data.transfer.cipher.key.bitlength is 128
	if err != nil {
		b.Fatal(err)
	}
	iv := make([]byte, aes.BlockSize)
	return &cipherConn{Conn: conn, in: cipher.NewCTR(block, iv), out: cipher.NewCTR(block, iv)}
}
