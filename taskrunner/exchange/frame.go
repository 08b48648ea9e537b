package exchange

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Frames of both directions have one header, big endian:
//
//	┌──────┬───┬───────────┬─────────────┬────────────┬─────────┐
//	│ kind │ 0 │ count u16 │ channel u32 │ length u32 │ payload │
//	└──────┴───┴───────────┴─────────────┴────────────┴─────────┘
//
// Channels are numbered by the consumer, from 0 for each connection.
const headerSize = 12

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
}

func (h header) append(to []byte) []byte {
	to = append(to, byte(h.kind), 0)
	to = binary.BigEndian.AppendUint16(to, h.count)
	to = binary.BigEndian.AppendUint32(to, h.channel)
	return binary.BigEndian.AppendUint32(to, uint32(h.length))
}

// parseHeader reads a header and checks its length for its kind.
func parseHeader(from []byte) (header, error) {
	h := header{
		kind:    frameKind(from[0]),
		count:   binary.BigEndian.Uint16(from[2:]),
		channel: binary.BigEndian.Uint32(from[4:]),
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
	_, err = r.Discard(headerSize)
	return h, err
}

// writeFrame writes a frame other than data.
func writeFrame(w *bufio.Writer, h header, payload []byte) error {
	h.length = len(payload)
	if _, err := w.Write(h.append(w.AvailableBuffer())); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// writeFailure writes why a channel ends before its data does.
func writeFailure(w *bufio.Writer, kind frameKind, channel uint32, why error) error {
	text := why.Error()
	return writeFrame(w, header{kind: kind, channel: channel}, []byte(text[:min(len(text), maxFail)]))
}

// writeData writes the frame of a buffer with one write.
func writeData(w *bufio.Writer, channel uint32, b *buffer, backlog int) error {
	h := header{kind: frameData, count: uint16(backlog), channel: channel, length: len(b.payload())}
	h.append(b.data[:0])
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
func readOpen(r io.Reader) (p PartitionID, channel int, err error) {
	var payload [openSize]byte
	if _, err := io.ReadFull(r, payload[:]); err != nil {
		return p, 0, err
	}
	p, channel = parseOpen(payload[:])
	return p, channel, nil
}

func parseOpen(from []byte) (p PartitionID, channel int) {
	at := func(i int) int { return int(binary.BigEndian.Uint32(from[4*i:])) }
	execution := ids.ExecutionAttemptID{Epoch: ids.Epoch(at(0)), Vertex: at(1), Subtask: at(2), Attempt: at(3)}
	return PartitionID{Execution: execution, Output: at(4)}, at(5)
}
