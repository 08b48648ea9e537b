package control_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// everything is the set of messages in these tests.
var everything = msg.KindsOf(msg.Heartbeat{}, msg.HostHello{}, msg.StopHost{}, msg.CollectBatch{}, msg.DriverFailed{}, msg.ExecuteJob{})

// TestMain is also the child process of tests that need one: it echoes messages until the other
// side has ended.
func TestMain(m *testing.M) {
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(child(value))
	}
	if mode := os.Getenv(speakerVariable); mode != "" {
		speak(mode)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func child(value string) int {
	role, fd, err := control.Parse(value)
	if err != nil || role != control.RoleTaskHost {
		return 10
	}
	conn, err := control.FromFD(fd)
	if err != nil {
		return 11
	}
	c := control.New(conn, everything)
	for {
		m, err := c.Receive()
		if errors.Is(err, io.EOF) {
			return 42
		}
		if err != nil {
			return 12
		}
		if stop, is := m.(msg.StopHost); is && stop.Cause == "die" {
			return 13 // some messages may be unread
		}
		if err := c.Send(m); err != nil {
			return 14
		}
	}
}

func startChild(t *testing.T) (*control.Conn, *exec.Cmd) {
	t.Helper()
	parent, file, err := control.Pair()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), control.Variable+"="+control.Value(control.RoleTaskHost, control.ChildFD))
	cmd.ExtraFiles = []*os.File{file}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return control.New(parent, everything), cmd
}

// TestChildAnswersAndSeesEndOfFile would catch an end that leaks into the child or the parent. It
// would hide the death of the other.
func TestChildAnswersAndSeesEndOfFile(t *testing.T) {
	conn, cmd := startChild(t)
	want := msg.StopHost{Cause: "test"}
	if err := conn.Send(want); err != nil {
		t.Fatal(err)
	}
	got, err := conn.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(msg.Message(want), got); diff != "" {
		t.Errorf("echo differs (-want +got):\n%s", diff)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 42 {
		t.Errorf("child exits with %d, want 42", cmd.ProcessState.ExitCode())
	}
}

// TestDeathOfTheChildIsEndOfFile would catch that a reset counts as a protocol error. The kernel
// sends a reset for a process that dies with unread messages.
func TestDeathOfTheChildIsEndOfFile(t *testing.T) {
	conn, cmd := startChild(t)
	defer conn.Close()
	if err := conn.Send(msg.StopHost{Cause: "die"}); err != nil {
		t.Fatal(err)
	}
	for conn.Send(msg.Heartbeat{}) == nil { // until the child has died, with some messages unread
	}
	if _, err := conn.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("receive from a dead child gives %v, want io.EOF", err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 13 {
		t.Errorf("child exits with %d, want 13", cmd.ProcessState.ExitCode())
	}
}

// TestSendersDoNotMixFrames would catch frames of two goroutines that interleave.
func TestSendersDoNotMixFrames(t *testing.T) {
	a, b := net.Pipe()
	from, to := control.New(a, everything), control.New(b, everything)
	const senders, each = 4, 50
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				if err := from.Send(msg.CollectBatch{Sequence: int64(s*each + i), Records: bytes.Repeat([]byte{byte(s)}, 1000*i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := make(map[int64]bool)
	for range senders * each {
		m, err := to.Receive()
		if err != nil {
			t.Fatal(err)
		}
		seen[m.(msg.CollectBatch).Sequence] = true
	}
	wg.Wait()
	if len(seen) != senders*each {
		t.Errorf("%d different messages arrive, want %d", len(seen), senders*each)
	}
	if err := from.Close(); err != nil {
		t.Error(err)
	}
	if _, err := to.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("receive after the other side closed gives %v, want io.EOF", err)
	}
}

// TestReceiveRefusesWhatIsNoFrame would catch an allocation of an announced length, and a cut frame
// that counts as a clean end.
func TestReceiveRefusesWhatIsNoFrame(t *testing.T) {
	for name, test := range map[string]struct {
		bytes []byte
		want  error
	}{
		"a length of zero":            {[]byte{0, 0, 0, 0, 1}, control.ErrFrame},
		"a length above the limit":    {binary.BigEndian.AppendUint32(nil, codec.MaxMessage+1), control.ErrFrame},
		"a length cut short":          {[]byte{0, 0}, io.ErrUnexpectedEOF},
		"a frame cut short":           {[]byte{3, 255, 255, 255, 'x'}, io.ErrUnexpectedEOF},
		"nothing":                     {nil, io.EOF},
		"a closed end of one's own":   {nil, net.ErrClosed},
		"text in place of an address": {[]byte("GET / HTTP/1.1\r\n\r\n"), control.ErrFrame},
	} {
		t.Run(name, func(t *testing.T) {
			parent, file, err := control.Pair()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write(test.bytes); err != nil {
				t.Fatal(err)
			}
			conn := control.New(parent, everything)
			if errors.Is(test.want, net.ErrClosed) {
				conn.Close()
			}
			file.Close()
			if _, err := conn.Receive(); !errors.Is(err, test.want) {
				t.Errorf("receive gives %v, want %v", err, test.want)
			}
			conn.Close()
		})
	}
}

// TestBoundRefusesLongMessages would catch a process whose peer decides how much memory it uses.
func TestBoundRefusesLongMessages(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	sender, receiver := control.New(far, everything), control.New(near, everything)
	receiver.Bound(1 << 10)
	sent := make(chan error, 2)
	go func() {
		for _, size := range []int{100, 2 << 10} {
			sent <- sender.Send(msg.DriverFailed{Message: strings.Repeat("x", size)})
		}
	}()
	if m, err := receiver.Receive(); err != nil || m == nil {
		t.Errorf("a short message: %v, %v", m, err)
	}
	if _, err := receiver.Receive(); !errors.Is(err, control.ErrTooLong) {
		t.Errorf("a long message: %v", err)
	}
	near.Close()
	<-sent
	<-sent
}

// TestNothingIsReadWithoutRoom would catch a message that is in memory before there is room for it,
// and one that keeps its room although it never comes.
func TestNothingIsReadWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		receiver, full := control.New(near, everything), errors.New("no room")
		go func() {
			_ = control.New(far, everything).Send(msg.DriverFailed{Message: "one"})
			_, _ = far.Write([]byte{0, 0, 4, 0, 1}) // an incomplete frame
		}()
		held := 0
		m, err := receiver.ReceiveHeld(func(bytes int) error { held = bytes; return nil })
		if failed, is := m.(msg.DriverFailed); err != nil || !is || failed.Message != "one" || held == 0 {
			t.Errorf("got %v, %v with room for %d", m, err, held)
		}
		if _, err := receiver.ReceiveHeld(func(int) error { return nil }); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a frame that does not go on: %v", err)
		}
		other, end := net.Pipe()
		defer other.Close()
		go func() { _ = control.New(end, everything).Send(msg.DriverFailed{Message: strings.Repeat("x", 64<<10)}) }()
		if _, err := control.New(other, everything).ReceiveHeld(func(int) error { return full }); !errors.Is(err, full) {
			t.Errorf("without room: %v", err)
		}
	})
}

// TestParseReadsWhatValueWrites would catch a program that takes a foreign variable for its role.
func TestParseReadsWhatValueWrites(t *testing.T) {
	for _, role := range []control.Role{control.RoleTaskHost, control.RoleDriver} {
		got, fd, err := control.Parse(control.Value(role, 7))
		if err != nil || got != role || fd != 7 {
			t.Errorf("parse of %s:7 gives %s, %d, %v", role, got, fd, err)
		}
	}
	for _, bad := range []string{"", "taskhost", "taskhost:", "taskhost:x", "taskhost:2", "taskhost:-1", "appmaster:3", "driver:3:4"} {
		t.Run(fmt.Sprintf("%q", bad), func(t *testing.T) {
			if _, _, err := control.Parse(bad); !errors.Is(err, control.ErrVariable) {
				t.Errorf("parse gives %v, want ErrVariable", err)
			}
		})
	}
}

// TestFromFDLeavesOtherFilesAlone would catch a program that closes a descriptor of the Go runtime,
// because it was started by hand in an environment with a left-over variable.
func TestFromFDLeavesOtherFilesAlone(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := control.FromFD(int(file.Fd())); err == nil {
		t.Error("a file is taken for a control socket")
	}
	if _, err := file.Stat(); err != nil {
		t.Errorf("the file is closed: %v", err)
	}
}

// FuzzReceive would catch bytes that crash the reader of a control socket.
func FuzzReceive(f *testing.F) {
	for _, m := range []msg.Message{msg.Heartbeat{}, msg.HostHello{ProtocolVersion: 1}} {
		data, err := codec.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		conn := control.New(&input{Reader: bytes.NewReader(data)}, everything)
		for {
			m, err := conn.Receive()
			if err != nil {
				return
			}
			if _, err := codec.Encode(m); err != nil {
				t.Errorf("received %s does not encode: %v", msg.Kind(m), err)
			}
		}
	})
}

// input is a connection that only delivers bytes.
type input struct {
	net.Conn
	io.Reader
}

func (in *input) Read(p []byte) (int, error) { return in.Reader.Read(p) }
