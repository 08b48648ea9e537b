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
	// ListenHost is the address to listen on, by which other hosts reach this one; the system
	// chooses the port.
	ListenHost string
	// ServerTLS and ClientTLS check which peers may exchange data with this host
	// (VerifyConnection). Both nil: no TLS, for hosts in one process.
	ServerTLS, ClientTLS *tls.Config
	// Memory bounds the host's buffers, in bytes. They are allocated when needed. If the channels'
	// guarantees need more, the host takes more.
	Memory int
	// BufferTimeout is how long a record waits in a buffer that does not fill.
	BufferTimeout time.Duration
	// SortBuffers is the most buffers in which a blocking output sorts its records; 0: 512, which are 16 MiB.
	SortBuffers int
	// Compress says that blocking outputs compress their files.
	Compress bool
	// RequestTimeout is how long a consumer waits for a partition that its host does not have
	// (yet). It also bounds the wait for the connection to that host, if it is longer than 30 s
	// (dialTimeout).
	RequestTimeout time.Duration
	// Unreachable is the time after which a host counts as lost if its machine acknowledges nothing
	// (config.Unreachable); 0: never. If only the process of a host is silent, the roles decide whether
	// it is lost.
	Unreachable time.Duration
	// Listen and Dial make the connections between hosts. nil: TCP. Tests in a bubble have no sockets.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Logger logrus.FieldLogger

	maxChannels int                             // of a connection; 0: maxChannels
	behind      func(net.Listener) net.Listener // wraps the listener; nil: no wrapper
}
