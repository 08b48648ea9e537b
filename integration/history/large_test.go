package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/historyserver"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// peak counts the bytes of an archive, and keeps the largest live heap, which it looks at once a megabyte.
type peak struct {
	bytes, looked int64
	heap          int64
}

func (p *peak) Write(text []byte) (int, error) {
	p.bytes += int64(len(text))
	if p.bytes-p.looked > 1<<20 {
		p.looked = p.bytes
		p.heap = max(p.heap, heaptest.InUse())
	}
	return len(text), nil
}

// TestAJobOf10000SubtasksIsArchived would catch an archive that fills the memory of the ApplicationMaster, and one that the
// history server refuses because it is too large. -v prints what it takes.
func TestAJobOf10000SubtasksIsArchived(t *testing.T) {
	const subtasks = 10_000
	archive := archiveOf(t, subtasks)
	before := heaptest.InUse()
	var p peak
	if err := archive.Write(&p); err != nil {
		t.Fatal(err)
	}
	const most = 64 << 20 // one answer about all subtasks, and its JSON
	if more := p.heap - before; more > most {
		t.Errorf("writing it takes %d MB of memory, want %d MB at most", more>>20, most>>20)
	} else {
		t.Logf("%d MB are written with %d MB of memory", p.bytes>>20, more>>20)
	}

	var text bytes.Buffer
	begin := time.Now()
	if err := archive.Write(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("written in %v", time.Since(begin))
	files := dataflowtest.NewFiles(map[string]string{"/done/" + string(job): text.String()})
	logger, logged := logtest.NewNullLogger()
	s := historyserver.New(historyserver.Config{
		Files: files, Dirs: []string{"mem:///done"}, Interval: time.Hour, TempDir: t.TempDir(),
		Limits: historyserver.Limits{Jobs: 10, Bytes: 1 << 30, Archive: 256 << 20},
	}, logger)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	base, begun := "http://"+l.Addr().String(), time.Now()
	wait.For(t, "the job is shown", func() (bool, error) {
		for _, e := range logged.AllEntries() {
			return false, fmt.Errorf("%s: %v", e.Message, e.Data)
		}
		response, err := http.Get(base + "/jobs/" + string(job))
		if err != nil {
			return false, err
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	t.Logf("read in %v", time.Since(begun))
	var read struct{ Archive []struct{ Path string } }
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Archive) < 3*subtasks {
		t.Errorf("the archive has %d answers", len(read.Archive))
	}
	for i := len(read.Archive) - 1; i >= 0; i -= 997 { // some of them
		if got := fetch(t, base+read.Archive[i].Path); !json.Valid(got) {
			t.Errorf("%s: %.200s", read.Archive[i].Path, got)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
