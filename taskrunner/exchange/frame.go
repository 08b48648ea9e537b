package exchange

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Frames of both directions have one header, big endian:
//
//	┌──────┬───┬───────────┬─────────────┬────────────┬───────────┬─────────┐
//	│ kind │ 0 │ count u16 │ channel u32 │ length u32 │ check u32 │ payload │
//	└──────┴───┴───────────┴─────────────┴────────────┴───────────┴─────────┘
//
// Channels are numbered by the consumer, from 0 for each connection. The check is the CRC-32C of what stands before it and of the
// payload: TCP's own checksum misses too much where a network damages packets. TLS checks more, so there it is 0.
const (
	headerSize = 16
	checkAt    = 12
)

type frameKind byte

const (
	// Consumer to producer.
	frameOpen    frameKind = iota + 1 // requests the channel in the payload: count is the number of its first credits
	frameCredit                       // count more buffers may be sent
	frameRelease                      // the consumer needs no more
	// Producer to consumer.
	frameData // one buffer: count is how many more wait for credit
	frameEnd  // all data was sent
	frameFail // no more data comes: the payload says why
	frameLost // as frameFail, from a Server: the partition must be written again
)

const (
	openSize = 6 * 4   // of frameOpen's payload
	maxFail  = 1 << 10 // bytes of the payload of frameFail and frameLost
)

type header struct {
	kind    frameKind
	count   uint16
	channel uint32
	length  int
	check   uint32
}

// errDamaged says that a frame is not the one that was sent.
var errDamaged = errors.New("a frame was damaged on its way, and TCP has not seen it: look for faulty network hardware")

// frameWriter writes frames to a connection.
type frameWriter struct {
	*bufio.Writer
	checks bool // the connection has no TLS
}

// isPlain tells whether a connection has no TLS.
func isPlain(conn any) bool {
	_, secured := conn.(*tls.Conn)
	return !secured
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkOf is the check of a frame.
func checkOf(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:checkAt], castagnoli), castagnoli, payload)
}

// verify compares the check of a frame that was read.
func (h header) verify(payload []byte) error {
	var head [headerSize]byte
	if checkOf(h.append(head[:0]), payload) != h.check {
		return errDamaged
	}
	return nil
}

func (h header) append(to []byte) []byte {
	to = append(to, byte(h.kind), 0)
	to = binary.BigEndian.AppendUint16(to, h.count)
	to = binary.BigEndian.AppendUint32(to, h.channel)
	to = binary.BigEndian.AppendUint32(to, uint32(h.length))
	return binary.BigEndian.AppendUint32(to, h.check)
}

// parseHeader reads a header and checks its length for its kind.
func parseHeader(from []byte) (header, error) {
	h := header{
		kind:    frameKind(from[0]),
		count:   binary.BigEndian.Uint16(from[2:]),
		channel: binary.BigEndian.Uint32(from[4:]),
		check:   binary.BigEndian.Uint32(from[checkAt:]),
	}
	length := binary.BigEndian.Uint32(from[8:])
	least, most := uint32(0), uint32(0)
	switch h.kind {
	case frameOpen:
		least, most = openSize, openSize
	case frameData:
		least, most = 1, maxPayload
	case frameFail, frameLost:
		most = maxFail
	case frameCredit, frameRelease, frameEnd:
	default:
		return header{}, fmt.Errorf("read frame % x: unknown kind: %w", from[:headerSize], errProtocol)
	}
	if from[1] != 0 || length < least || length > most {
		return header{}, fmt.Errorf("read frame % x: its length is not from %d to %d: %w", from[:headerSize], least, most, errProtocol)
	}
	h.length = int(length)
	return h, nil
}

// readHeader reads a header. It returns io.EOF only between two frames.
func readHeader(r *intake) (header, error) {
	raw, err := r.Peek(headerSize)
	if err != nil {
		if errors.Is(err, io.EOF) && len(raw) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return header{}, err
	}
	h, err := parseHeader(raw)
	if err != nil {
		return header{}, err
	}
	if r.checks && h.length == 0 {
		if err := h.verify(nil); err != nil {
			return header{}, err
		}
	}
	_, err = r.Discard(headerSize)
	return h, err
}

// writeFrame writes a frame other than data.
func writeFrame(w *frameWriter, h header, payload []byte) error {
	h.length = len(payload)
	head := h.append(w.AvailableBuffer())
	if w.checks {
		binary.BigEndian.PutUint32(head[checkAt:], checkOf(head, payload))
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// writeFailure writes why a channel ends before its data does.
func writeFailure(w *frameWriter, kind frameKind, channel uint32, why error) error {
	text := why.Error()
	return writeFrame(w, header{kind: kind, channel: channel}, []byte(text[:min(len(text), maxFail)]))
}

// writeData writes the frame of a buffer with one write.
func writeData(w *frameWriter, channel uint32, b *buffer, backlog int) error {
	h := header{kind: frameData, count: uint16(backlog), channel: channel, length: len(b.payload())}
	head := h.append(b.data[:0])
	if w.checks {
		binary.BigEndian.PutUint32(head[checkAt:], checkOf(head, b.payload()))
	}
	_, err := w.Write(b.data[:b.end])
	return err
}

// PartitionID names one output of one execution.
type PartitionID = ids.PartitionID

// appendOpen writes frameOpen's payload: which channel of which partition.
func appendOpen(to []byte, p PartitionID, channel int) []byte {
	for _, n := range []int{int(p.Execution.Epoch), p.Execution.Vertex, p.Execution.Subtask, p.Execution.Attempt, p.Output, channel} {
		to = binary.BigEndian.AppendUint32(to, uint32(n))
	}
	return to
}

// readOpen reads frameOpen's payload.
func readOpen(r *intake, h header) (p PartitionID, channel int, err error) {
	payload, err := r.small(h)
	if err != nil {
		return p, 0, err
	}
	p, channel = parseOpen(payload)
	return p, channel, nil
}

func parseOpen(from []byte) (p PartitionID, channel int) {
	at := func(i int) int { return int(binary.BigEndian.Uint32(from[4*i:])) }
	execution := ids.ExecutionAttemptID{Epoch: ids.Epoch(at(0)), Vertex: at(1), Subtask: at(2), Attempt: at(3)}
	return PartitionID{Execution: execution, Output: at(4)}, at(5)
}
