package exchange

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// fewChannels is a bound that a peer with more channels exceeds.
const fewChannels = 1 << 10

func quietLog() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

func newTestExchange(t testing.TB, host ids.HostID) *Exchange {
	t.Helper()
	e, err := New(t.Context(), Config{Job: "j", Host: host, ListenHost: "127.0.0.1", Logger: quietLog(), maxChannels: fewChannels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func frame(kind frameKind, channel uint32, count int, payload ...byte) []byte {
	h := header{kind: kind, count: uint16(count), channel: channel, length: len(payload)}
	h.check = checkOf(h.append(nil), payload)
	return append(h.append(nil), payload...)
}

func open(channel uint32, subtask int) []byte {
	p := PartitionID{Execution: ids.ExecutionAttemptID{Subtask: subtask}}
	return frame(frameOpen, channel, 1, appendOpen(nil, p, 0)...)
}

func hello(t testing.TB, g greeting) []byte {
	t.Helper()
	b, err := g.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestProducersHostEndsAHostileConnection would catch a consumer's host that can crash another
// host, or make it use unbounded memory.
func TestProducersHostEndsAHostileConnection(t *testing.T) {
	right := greeting{jobgraph.ProtocolVersion, "j", "x", "a"}
	many := hello(t, right)
	for i := range uint32(fewChannels + 1) {
		many = append(many, open(i, 7)...)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(append([][]byte{hello(t, right)}, parts...), nil) }
	wrong := func(change func(*greeting)) []byte {
		g := right
		change(&g)
		return hello(t, g)
	}
	tooLong := frame(frameOpen, 0, 1)
	binary.BigEndian.PutUint32(tooLong[8:], 1<<31)
	for name, bytes := range map[string][]byte{
		"another protocol":              []byte("GET / HTTP/1.1\r\n\r\n"),
		"another version":               wrong(func(g *greeting) { g.version++ }),
		"another job":                   wrong(func(g *greeting) { g.job = "k" }),
		"another host":                  wrong(func(g *greeting) { g.to = "b" }),
		"an unknown kind of frame":      join(frame(77, 0, 0)),
		"a frame of the wrong length":   join(frame(frameOpen, 0, 1, 1, 2, 3)),
		"a frame of a vast length":      join(tooLong),
		"a frame of the producer":       join(open(0, 7), frame(frameData, 0, 0, 1)),
		"credit for an unknown channel": join(frame(frameCredit, 9, 1)),
		"a channel opened twice":        join(open(3, 7), open(3, 8)),
		"a channel released twice":      join(open(3, 7), frame(frameRelease, 3, 0), frame(frameRelease, 3, 0)),
		"too many channels":             many,
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestExchange(t, "a")
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", e.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.Write(bytes)
			io.Copy(io.Discard, conn) // hangs if the host does not end the connection
		})
	}
}

// serveProducer is a producers' host that answers a greeting and then sends the given bytes.
func serveProducer(t *testing.T, answer []byte) (address string, wait func()) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with the connection
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := readGreeting(conn); err != nil {
			t.Error(err)
		}
		conn.Write(answer)
		io.Copy(io.Discard, conn)
	}()
	return l.Addr().String(), func() { <-done; l.Close() }
}

// TestConsumersHostEndsAHostileConnection would catch that a host accepts data without credit, or
// data that ends within a record.
func TestConsumersHostEndsAHostileConnection(t *testing.T) {
	welcome := append([]byte(magic), 0, jobgraph.ProtocolVersion, 0, 0)
	join := func(parts ...[]byte) []byte { return bytes.Join(append([][]byte{welcome}, parts...), nil) }
	data := frame(frameData, 0, 0, 1, 'x')
	for name, test := range map[string]struct {
		answer []byte
		want   string
		lost   bool
	}{
		"another protocol":                {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), `begins with "HTTP"`, true},
		"TLS":                             {[]byte{0x16, 3, 3, 0, 7, 2, 0, 0}, "speaks TLS", true},
		"a vast refusal":                  {append([]byte(magic), 0, 1, 0xff, 0xff), "refusal of 65535 bytes", true},
		"buffers without credit":          {join(bytes.Repeat(data, maxPerChannel+1)), "buffer without credit", true},
		"a channel that is not open":      {join(frame(frameData, 5, 0, 1, 'x')), "not open", true},
		"a frame of the consumer":         {join(open(0, 0)), "other direction", true},
		"an empty buffer":                 {join(frame(frameData, 0, 0)), "not from 1 to", true},
		"data after the end":              {join(frame(frameEnd, 0, 0), data), "", false},
		"a lost partition":                {join(frame(frameLost, 0, 0, 'g', 'o', 'n', 'e')), "gone", false},
		"data after a lost partition":     {join(frame(frameLost, 0, 0), data), "lost partition", false},
		"an end within a record":          {join(frame(frameData, 0, 0, 9, 'x'), frame(frameEnd, 0, 0)), "8 bytes before its last record", false},
		"a record length without an end":  {join(frame(frameData, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff)), "read record length ff ff ff ff", false},
		"a record of more than the bound": {join(frame(frameData, 0, 0, 0xff, 0xff, 0xff, 0x7f)), "read record length ff ff ff 7f", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestExchange(t, "a")
			address, wait := serveProducer(t, test.answer)
			g := e.Gate(t.Context(), []Producer{{Host: "x", Address: address}})
			if test.lost { // before a record is read, because reading gives more credit
				wait()
			}
			var err error
			for err == nil {
				_, err = g.Next(t.Context())
			}
			if test.want == "" { // the input ends well; later bytes concern only the connection
				if !errors.Is(err, io.EOF) {
					t.Errorf("next gives %v, want io.EOF", err)
				}
			} else if !strings.Contains(err.Error(), test.want) || errors.Is(err, ErrPeerLost) != test.lost {
				t.Errorf("next gives %v, want %q", err, test.want)
			}
			g.Close()
			e.Close()
			wait() // again, for the others
		})
	}
}

// TestGreetingRefusesLongIDs would catch an id that is truncated.
func TestGreetingRefusesLongIDs(t *testing.T) {
	if _, err := (greeting{job: ids.JobID(strings.Repeat("x", 256))}).append(nil); err == nil {
		t.Error("an id of 256 bytes is greeted with")
	}
}

// FuzzGreeting would catch a greeting that crashes a host, or is read differently from what was
// sent.
func FuzzGreeting(f *testing.F) {
	f.Add(hello(f, greeting{jobgraph.ProtocolVersion, "j", "a", "b"}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		g, err := readGreeting(r)
		if err != nil || g.version != jobgraph.ProtocolVersion {
			return
		}
		if again := hello(t, g); !bytes.Equal(again, data[:len(data)-r.Len()]) {
			t.Errorf("greeting %+v of %x encodes as %x", g, data, again)
		}
	})
}

// FuzzRecords would catch an assembler that panics, or depends on how the bytes of a channel are
// divided into buffers.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{1, 'x', 0, 3, 'a', 'b', 'c'}, uint8(2))
	f.Add([]byte{0x80, 1}, uint8(1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		var a assembler
		var got [][]byte
		for rest := data; len(rest) > 0; {
			// Cut anywhere except within a length, as senders do.
			n := max(int(cut)%len(rest), 1)
			if a.missing == 0 {
				if length, size := binary.Uvarint(rest[:min(len(rest), maxPrefix)]); size > 0 && length > 0 {
					n = max(n, size)
				}
			}
			payload := rest[:n]
			rest = rest[n:]
			for {
				record, more, found, err := a.next(payload)
				if err != nil {
					return
				}
				if !found {
					break
				}
				got = append(got, bytes.Clone(record))
				payload = more
			}
		}
		if a.end() != nil {
			return
		}
		rest := data
		for _, record := range got {
			length, size := binary.Uvarint(rest)
			if size <= 0 || length != uint64(len(record)) || !bytes.Equal(rest[size:size+len(record)], record) {
				t.Fatalf("records of %x in pieces: %x", data, got)
			}
			rest = rest[size+len(record):]
		}
	})
}

// FuzzFrames would catch bytes that crash either end of an established
// connection, or that make it allocate without bound.
func FuzzFrames(f *testing.F) {
	f.Add(bytes.Join([][]byte{open(0, 0), frame(frameCredit, 0, 3), frame(frameRelease, 0, 0)}, nil))
	f.Add(bytes.Join([][]byte{frame(frameData, 0, 2, 1, 'x'), frame(frameEnd, 0, 0)}, nil))
	f.Add(frame(frameFail, 0, 0, []byte("boom")...))
	f.Add(frame(frameLost, 0, 0, []byte("gone")...))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &Exchange{pool: &pool{capacity: 10}, registry: newRegistry("a"), closing: make(chan struct{})}
		e.config.RequestTimeout = time.Hour
		p, err := e.Partition(ids.ExecutionAttemptID{}, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		accepted := &acceptedLink{link: newLink[*outgoing](func() {}, fewChannels), exchange: e}
		r := newIntake(bytes.NewReader(data))
		r.checks = false // otherwise hardly any frame would be read
		if readFrames(r, func(h header) error { return accepted.handle(h, r) }) == nil {
			t.Error("frames without an end")
		}
		accepted.fail(io.ErrUnexpectedEOF)
		p.Fail(io.ErrUnexpectedEOF)

		server := newServedTest(t)
		if server.read(data) == nil {
			t.Error("frames without an end")
		}
		for c, some := server.turns.next(); some; c, some = server.turns.next() {
			c.prepare(nil) // it reads nothing
			if _, err := c.produce(&frameWriter{Writer: bufio.NewWriter(io.Discard)}); err != nil {
				t.Error(err)
			}
		}
		server.fail(io.ErrUnexpectedEOF)
		if n := server.server.guests.jobs["j"].channels; n != 0 {
			t.Errorf("%d channels are counted at the end", n)
		}

		dialed := &dialedLink{link: newLink[*incoming](func() {}, fewChannels), exchange: e, host: "b"}
		g := e.newGate(0)
		g.remote = 1
		e.pool.reserve(1)
		c := &inputChannel{gate: g}
		in := &incoming{link: dialed, channel: c, quota: quota{pool: e.pool}}
		c.source = in
		g.add(c)
		if err := dialed.add(0, in); err != nil {
			t.Fatal(err)
		}
		in.start()
		r = newIntake(bytes.NewReader(data))
		if readFrames(r, func(h header) error { return dialed.handle(h, r) }) == nil {
			t.Error("frames without an end")
		}
		dialed.fail(io.ErrUnexpectedEOF)
		for err == nil {
			_, err = g.Next(t.Context())
		}
		g.Close()
		if e.pool.made > maxPerChannel || len(e.pool.free) != e.pool.made || e.pool.floating != 0 || e.pool.reserved != 0 {
			t.Errorf("%d buffers were made, %d are free, %d float, %d are reserved", e.pool.made, len(e.pool.free), e.pool.floating, e.pool.reserved)
		}
	})
}
