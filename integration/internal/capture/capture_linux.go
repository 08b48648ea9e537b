package capture

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// receiveBuffer is the size of the socket's buffer in bytes, for the time in which the recorder waits for the disk.
	// It is the largest value allowed. The kernel doubles it, and allocates memory only when needed.
	receiveBuffer = math.MaxInt32 / 2
	// priority is the priority of the recorder's thread, above all others on a busy machine (setpriority(2)).
	priority = -20
	// maxRecord bounds the file, in bytes.
	maxRecord = 4 << 30
	// endLimit bounds the time that the recorder needs to reach the end, because disks can be slow.
	endLimit = 30 * time.Minute
)

// ErrIncomplete says that a recording lacks frames.
var ErrIncomplete = errors.New("the recording has gaps")

// Capture is a recording under way.
type Capture struct {
	socket *os.File
	fd     int // the socket, for its statistics
	file   *os.File
	end    []byte     // the frame that Stop sends last
	done   chan error // the recorder's result; capacity 1, because Stop may come late
}

// Start records the frames of a scope into a file in dir. The recording contains each such frame that is sent after
// Start has returned.
func Start(dir string, scope Scope) (*Capture, error) {
	fd, err := open(scope)
	if err != nil {
		return nil, fmt.Errorf("capture on the loopback interface, which only root may do: %w", err)
	}
	file, err := os.CreateTemp(dir, "loopback-")
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	c := &Capture{socket: os.NewFile(uintptr(fd), "loopback"), fd: fd, file: file, end: []byte(rand.Text()), done: make(chan error, 1)}
	go func() { c.done <- c.record() }() // Stop ends it
	return c, nil
}

// open makes a socket that receives each frame of a scope once, when the frame comes in.
func open(scope Scope) (int, error) {
	lo, err := loopback()
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0) // receives nothing before Bind
	if err != nil {
		return -1, err
	}
	program := scope.filter()
	err = errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
	)
	if err == nil {
		all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: lo})
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func loopback() (index int, err error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return 0, err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Index, nil
		}
	}
	return 0, errors.New("there is none")
}

// record writes each frame after its length, until the end frame comes.
func (c *Capture) record() error {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and its priority with it
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), priority); err != nil {
		return fmt.Errorf("raise the recorder's priority: %w", err)
	}
	out := bufio.NewWriterSize(c.file, 1<<20)
	frame := make([]byte, 4+maxFrame)
	for written := 0; ; {
		n, err := c.socket.Read(frame[4:])
		if err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
		if bytes.Contains(frame[4:4+n], c.end) {
			return out.Flush()
		}
		if written += 4 + n; n == maxFrame || written > maxRecord {
			return fmt.Errorf("%w: too large: a frame has %d bytes, and the recording %d", ErrIncomplete, n, written)
		}
		binary.BigEndian.PutUint32(frame, uint32(n))
		if _, err := out.Write(frame[:4+n]); err != nil {
			return err
		}
	}
}

// sendEnd sends the end frame to an address that nobody reads.
func (c *Capture) sendEnd() error {
	conn, err := (&net.Dialer{}).Dial("udp", "127.0.0.1:9")
	if err != nil {
		return err
	}
	_, err = conn.Write(c.end)
	return errors.Join(err, conn.Close())
}

// Stop ends the recording and searches it. ErrIncomplete means that the recording lacks frames.
func (c *Capture) Stop(patterns []Pattern) (found Found, err error) {
	defer func() { err = errors.Join(err, c.socket.Close(), c.file.Close(), os.Remove(c.file.Name())) }()
	if err := c.socket.SetReadDeadline(time.Now().Add(endLimit)); err != nil {
		return Found{}, err
	}
	if err := errors.Join(c.sendEnd(), <-c.done); err != nil {
		return Found{}, err
	}
	stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return Found{}, err
	}
	if stats.Drops > 0 {
		return Found{}, fmt.Errorf("%w: the kernel has dropped %d of %d frames", ErrIncomplete, stats.Drops, stats.Packets)
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return Found{}, err
	}
	return Search(bufio.NewReaderSize(c.file, 1<<20), patterns)
}
