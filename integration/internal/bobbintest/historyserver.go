package bobbintest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// HistoryServer is a running `bobbin history-server`.
type HistoryServer struct {
	Dir string // on HDFS
	URL string // without a slash at its end

	port int
}

// HistoryServer starts a history server of a directory with these flags, and waits until it answers. It looks for new
// archives twice a second.
func (u *User) HistoryServer(t testing.TB, dir string, flags ...string) *HistoryServer {
	t.Helper()
	h := &HistoryServer{Dir: dir, port: FreePort(t)}
	h.URL = fmt.Sprintf("http://127.0.0.1:%d", h.port)
	u.Start(t, slices.Concat([]string{"history-server"}, Option(config.HistoryDirs.Name(), "hdfs://"+dir), Option(config.HistoryPort.Name(), strconv.Itoa(h.port)),
		Option(config.HistoryRefresh.Name(), "500 ms"), flags)...).Says(t, h.URL)
	return h
}

// Options are those of an application whose jobs the server shows.
func (h *HistoryServer) Options() []string {
	return slices.Concat(Option(config.ArchiveDir.Name(), "hdfs://"+h.Dir), Option(config.HistoryAddress.Name(), "127.0.0.1"),
		Option(config.HistoryPort.Name(), strconv.Itoa(h.port)))
}

// Option returns the flags that set an option.
func Option(name, value string) []string { return []string{"-D", name + "=" + value} }

// FreePort returns a port on which nothing listens; see cluster.FreePorts.
func FreePort(t testing.TB) int {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return ports[0]
}
