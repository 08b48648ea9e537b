package exchange

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Defaults of Config.
const (
	defaultMemory         = 64 << 20               // as Flink's taskmanager.memory.network.min
	defaultBufferTimeout  = 100 * time.Millisecond // as Flink's execution.buffer-timeout.interval
	DefaultRequestTimeout = 10 * time.Second       // as Flink's taskmanager.network.partition-request-timeout
)

// Config is what an Exchange needs to know.
type Config struct {
	Job  ids.JobID
	Host ids.HostID // this host
	// ListenHost is the address to bind to, under which other hosts reach this
	// one; the port is the system's choice.
	ListenHost string
	// ServerTLS and ClientTLS check by themselves who may exchange data with
	// this host (VerifyConnection). Both nil: no TLS, for hosts of one process.
	ServerTLS, ClientTLS *tls.Config
	// Memory is what the host's buffers may take, in bytes; they are allocated
	// as used. More is taken where the channels' guarantees need it.
	Memory int
	// BufferTimeout is how long a record waits in a buffer that does not fill.
	BufferTimeout time.Duration
	// RequestTimeout is how long a consumer waits for a partition that its host
	// does not have (yet), and before that for the connection to the host, but 30 s at
	// least (dialTimeout).
	RequestTimeout time.Duration
	// Unreachable is the time after which a host is lost whose machine acknowledges
	// nothing (liveness.After); 0: never. One whose process is silent is not lost here,
	// but when the roles say so.
	Unreachable time.Duration
	Logger      logrus.FieldLogger

	maxChannels int                                                                  // of a connection; 0: maxChannels
	behind      func(net.Listener) net.Listener                                      // what lies over the listener; nil: nothing
	dial        func(ctx context.Context, network, address string) (net.Conn, error) // nil: net.Dialer's
}
