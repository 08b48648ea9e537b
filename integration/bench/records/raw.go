package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// rawBuffer is the size of a write, as of a buffer of the exchange.
const rawBuffer = 32 << 10

// rawSender sends over the first connection that it accepts.
type rawSender struct {
	plan     plan
	listener net.Listener
	conn     net.Conn // nil until the first phase
}

func listenRaw(ctx context.Context, p plan, own *pki.Credentials) (*rawSender, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if own != nil {
		listener = tls.NewListener(listener, own.ServerTLS(pki.OnlyJob(job)))
	}
	return &rawSender{plan: p, listener: listener}, nil
}

func (s *rawSender) address() string { return s.listener.Addr().String() }

func (s *rawSender) send(_ context.Context, phase int) (err error) {
	if s.conn == nil {
		if s.conn, err = s.listener.Accept(); err != nil {
			return err
		}
	}
	buffer := make([]byte, rawBuffer)
	for left := s.plan.records(phase) * int64(s.plan.Size); left > 0; {
		n, err := s.conn.Write(buffer[:min(left, rawBuffer)])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

func (s *rawSender) close() error {
	if s.conn != nil {
		s.conn.Close()
	}
	return s.listener.Close()
}

// rawReceiver reads into a buffer, and looks at nothing.
type rawReceiver struct {
	plan plan
	conn net.Conn
}

func dialRaw(ctx context.Context, p plan, address string, own *pki.Credentials) (*rawReceiver, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if own != nil {
		conn = tls.Client(conn, own.ClientTLS(pki.OnlyJob(job)))
	}
	return &rawReceiver{p, conn}, nil
}

func (r *rawReceiver) receive(_ context.Context, phase int) (moved Moved, err error) {
	moved.Records = r.plan.records(phase)
	want := moved.Records * int64(r.plan.Size)
	for buffer := make([]byte, rawBuffer); moved.Bytes < want; {
		n, err := r.conn.Read(buffer)
		moved.Bytes += int64(n)
		if err != nil {
			return moved, fmt.Errorf("after %d bytes of %d: %w", moved.Bytes, want, err)
		}
	}
	return moved, nil
}

func (r *rawReceiver) close() error {
	r.conn.Close()
	return nil
}
