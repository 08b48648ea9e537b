package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const workerID = "container_1_0001_01_000002"

// fakeProcesses are the ApplicationMaster and one worker with a task host. Each has the log "taskmanager.log", and
// the other files that Flink's paths name.
type fakeProcesses struct {
	content string // of each log
	flames  string // each flame graph
	started bool   // no profile was taken yet
	err     error

	mu    sync.Mutex // guards asked
	asked []string
}

// recorded is when everything of fakeProcesses has happened.
var recorded = time.UnixMilli(1_700_000_000_000)

func (p *fakeProcesses) TaskExecutor(ctx context.Context, worker ids.ResourceID) (msg.TaskExecutorDetails, error) {
	all, err := (&fakeGateway{start: recorded}).TaskExecutors(ctx)
	if worker != workerID {
		return msg.TaskExecutorDetails{}, fmt.Errorf("%w: %s", msg.ErrWorkerNotFound, worker)
	}
	one := all[0]
	one.Jobs = []ids.JobID{runningID, runningID, failedID}
	one.Metrics = &msg.WorkerMetrics{Partitions: &msg.ServedPartitions{Number: 12, Bytes: 3 << 20}, Process: msg.ProcessMetrics{
		HeapUsed: 10 << 20, HeapCommitted: 12 << 20, HeapMax: 32 << 20, Runtime: 20 << 20, Collections: 7, CollectionTime: 9 * time.Millisecond,
	}}
	return one, err
}

func (p *fakeProcesses) Inquire(_ context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (a msg.InquiryAnswer, err error) {
	p.mu.Lock()
	p.asked = append(p.asked, fmt.Sprintf("%s %s %s %s %+v %+v", worker, host, about.Topic, about.File, about.Part, about.Profile))
	p.mu.Unlock()
	switch {
	case p.err != nil:
		return a, p.err
	case worker != workerID && worker != "":
		return a, fmt.Errorf("%w: %s", msg.ErrWorkerNotFound, worker)
	case host != "" && host != workerID+"-1":
		return a, fmt.Errorf("%w: task host %s", msg.ErrNotShown, host)
	case about.File == "nobody":
		return a, fmt.Errorf("%w: file %s", msg.ErrNotShown, about.File)
	}
	file := msg.FileDetails{Name: about.File, Size: int64(len(p.content)), Modified: recorded, ID: 0x2a}
	profile := msg.ProfileDetails{Mode: about.Profile.Mode, Duration: about.Profile.Duration, State: msg.ProfileRunning, Triggered: recorded}
	switch about.Topic {
	case msg.AboutLogs:
		file.Name = "taskmanager.log"
		a.Files = []msg.FileDetails{file}
	case msg.AboutLog, msg.AboutProfile:
		return p.part(file, about.Part), nil
	case msg.AboutGoroutines:
		a.Content = []byte("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:7\n\ngoroutine 7 [select, 3 minutes]:\nmain.wait()\n\n(cut: more)")
	case msg.AboutNewProfile:
		a.Profiles = []msg.ProfileDetails{profile}
	case msg.AboutProfiles:
		if !p.started {
			profile.Mode, profile.Duration, profile.State = msg.ProfileCPU, time.Second, msg.ProfileFinished
			profile.Finished, profile.Message, profile.File = recorded.Add(time.Second), "Profiling Successful", "x.pprof"
			a.Profiles = []msg.ProfileDetails{profile}
		}
	case msg.AboutFlames:
		if !p.started {
			a.Content = []byte(p.flames)
		}
	case msg.AboutHosts:
		a.Hosts = []msg.HostDetails{{Host: workerID + "-1", Job: runningID}}
	}
	return a, nil
}

// part reads as package inquiry does, at most 64 KiB.
func (p *fakeProcesses) part(file msg.FileDetails, part msg.Part) msg.InquiryAnswer {
	offset := part.Offset
	if offset < 0 {
		offset = max(file.Size+offset, 0)
	} else if offset > file.Size {
		offset = 0
	}
	end := min(offset+msg.MaxPart, file.Size)
	return msg.InquiryAnswer{File: file, Offset: offset, Content: []byte(p.content[offset:end])}
}

// logLines is a log of some bytes.
func logLines(bytes int) string {
	var text strings.Builder
	for i := 0; text.Len() < bytes; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	return text.String()[:bytes]
}

// hungProcesses have disks that hang.
type hungProcesses struct{ fakeProcesses }

func (p *hungProcesses) Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	if about.Topic.ReadsDisk() {
		<-ctx.Done()
		return msg.InquiryAnswer{}, context.Cause(ctx)
	}
	return p.fakeProcesses.Inquire(ctx, worker, host, about)
}

// TestStacksAreShownWhileDisksHang would catch viewers of logs on disks that hang who take the goroutines away, which tell why.
func TestStacksAreShownWhileDisksHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&fakeGateway{})
		s.config.Processes = &hungProcesses{}
		ctx, end := context.WithCancel(t.Context())
		var viewers sync.WaitGroup
		paths := []string{"/jobmanager", "/taskmanagers/" + workerID, "/taskmanagers/w2"}
		for _, path := range paths {
			viewers.Go(func() {
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path+"/logs", nil)
				r.Header.Set("Authorization", "Bearer "+token)
				s.secure().ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		synctest.Wait()
		for _, path := range paths[:2] {
			began := time.Now()
			if w := askServer(s, http.MethodGet, path+"/thread-dump"); w.Code != http.StatusOK || time.Since(began) > 0 {
				t.Errorf("%s: status %d after %s: %s", path, w.Code, time.Since(began), w.Body)
			}
		}
		end()
		viewers.Wait()
	})
}
