package taskexecutor

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// noting records the files from which hosts are started.
type noting struct {
	HostStarter

	mu    sync.Mutex // guards files
	files []string
}

func (n *noting) Start(ctx context.Context, spec HostSpec) (Host, error) {
	n.mu.Lock()
	n.files = append(n.files, spec.Program)
	n.mu.Unlock()
	return n.HostStarter.Start(ctx, spec)
}

func (n *noting) started() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.files)
}

// fetching starts a worker with two slots that fetches programs from a fake file system.
func fetching(t *testing.T, artifacts DiskArtifacts) (*cluster, *noting) {
	t.Helper()
	hosts := &noting{HostStarter: goroutineHosts{behave: obedient}}
	return startCluster(t, hosts, func(c *Config, env *Environment) {
		c.Slots, c.VCores = 2, 2
		env.Artifacts = artifacts
	}), hosts
}

func leave(t *testing.T, c *cluster, jm *rolerpc.Stream, allocation ids.AllocationID) {
	t.Helper()
	jm.Send(msg.FreeSlots{Allocations: []ids.AllocationID{allocation}, Cause: "job has ended"})
	freedAlone(t, c, allocation)
	next[msg.Disconnect](t, c.jm.in)
}

// stop is leave for a job with a host.
func stop(t *testing.T, c *cluster, jm *rolerpc.Stream, allocation ids.AllocationID) {
	t.Helper()
	jm.Send(msg.FreeSlots{Allocations: []ids.AllocationID{allocation}, Cause: "job has ended"})
	if lost := next[msg.HostLost](t, c.jm.in); lost.Reason != msg.HostStopped {
		t.Errorf("the JobMaster is told %+v of a host that is stopped", lost)
	}
	freedAlone(t, c, allocation)
	next[msg.Disconnect](t, c.jm.in)
}

func freedAlone(t *testing.T, c *cluster, allocation ids.AllocationID) {
	t.Helper()
	if freed := next[msg.SlotsFreed](t, c.rm.in); len(freed.Slots) != 1 || freed.Slots[0].Allocation != allocation {
		t.Errorf("free are %+v, want allocation %s alone", freed.Slots, allocation)
	}
}

func folders(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestJobsOfOneProgramFetchItOnce would catch a program that is fetched once for each job, runs
// before it is complete, or stays on the disk after the end of the worker.
func TestJobsOfOneProgramFetchItOnce(t *testing.T) {
	content := []byte("program")
	wordcount := msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/wordcount"}
	dir := filepath.Join(t.TempDir(), "programs")
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		opened := 0
		c, hosts := fetching(t, DiskArtifacts{Dirs: []string{dir}, Open: func() (Files, error) {
			opened++
			return &staged{content: reader, size: int64(len(content))}, nil
		}})
		rm := c.admit()
		first := c.grant(rm, 0, "j1", wordcount)
		second := c.grant(rm, 1, "j2", wordcount)
		if _, err := writer.Write(content[:3]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if started := hosts.started(); len(started) > 0 {
			t.Errorf("hosts are started from half a program: %v", started)
		}
		if _, err := writer.Write(content[3:]); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		next[msg.HostReady](t, c.jm.in)
		next[msg.HostReady](t, c.jm.in)
		stop(t, c, first, "a1")
		stop(t, c, second, "a2")
		third := c.grant(rm, 0, "j3", wordcount)
		next[msg.HostReady](t, c.jm.in)
		stop(t, c, third, "a1")
		file := filepath.Join(dir, "1", "wordcount")
		if started := hosts.started(); !slices.Equal(started, []string{file, file, file}) || opened != 1 {
			t.Errorf("the program was fetched %d times, and hosts were started from %v; want once and %s", opened, started, file)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("programs %v are left behind", left)
	}
}

// TestFetchEndsWithItsJob would catch a fetch that continues though no job needs it.
func TestFetchEndsWithItsJob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "programs")
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		c, hosts := fetching(t, DiskArtifacts{Dirs: []string{dir}, Open: func() (Files, error) {
			return &staged{content: reader, size: 9}, nil
		}})
		jm := c.grant(c.admit(), 0, "j1", msg.Program{Name: "wordcount", SHA256: "11", URI: "hdfs://ns/wordcount"})
		if _, err := writer.Write([]byte("pro")); err != nil {
			t.Fatal(err)
		}
		leave(t, c, jm, "a1")
		synctest.Wait()
		if _, err := writer.Write([]byte("gram")); err == nil {
			t.Error("it is still read")
		}
		if left := folders(t, dir); len(left) > 0 {
			t.Errorf("programs %v are left behind", left)
		}
		if started := hosts.started(); len(started) > 0 {
			t.Errorf("hosts are started: %v", started)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestARunningFetchGetsNewTokens would catch a fetch that continues with the tokens with which it began. Those end
// while HDFS does not answer, and the worker has newer ones.
func TestARunningFetchGetsNewTokens(t *testing.T) {
	content := []byte("program")
	synctest.Test(t, func(t *testing.T) {
		var shown atomic.Pointer[string]
		reader, writer := io.Pipe() // HDFS is away until the test writes
		c := startCluster(t, &noting{HostStarter: goroutineHosts{behave: obedient}}, func(c *Config, env *Environment) {
			c.Tokens = msg.Secret("first")
			env.UpdateTokens = func(tokens msg.Secret) error {
				text := string(tokens)
				shown.Store(&text)
				return nil
			}
			env.Artifacts = DiskArtifacts{Dirs: []string{t.TempDir()}, Open: func() (Files, error) {
				return &staged{content: reader, size: int64(len(content))}, nil
			}}
		})
		rm := c.admit()
		c.grant(rm, 0, "j1", msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/wordcount"})
		synctest.Wait()
		if first := shown.Load(); first == nil || *first != "first" {
			t.Errorf("the fetch begins with the tokens %v, want those of the launch", first)
		}
		rm.Send(msg.UpdateTokens{Tokens: msg.Secret("second")})
		synctest.Wait()
		if newest := *shown.Load(); newest != "second" {
			t.Errorf("connections of the fetch show the tokens %q, want the newest", newest)
		}
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		next[msg.HostReady](t, c.jm.in)
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestAFetchWaitsForValidTokens would catch a token that has ended taken for a fault of the node: the job would set
// aside one node after the other.
func TestAFetchWaitsForValidTokens(t *testing.T) {
	content := []byte("program")
	synctest.Test(t, func(t *testing.T) {
		var valid atomic.Bool
		c := startCluster(t, &noting{HostStarter: goroutineHosts{behave: obedient}}, func(c *Config, env *Environment) {
			c.Tokens = msg.Secret("first")
			env.UpdateTokens = func(tokens msg.Secret) error {
				valid.Store(string(tokens) == "second")
				return nil
			}
			env.Artifacts = DiskArtifacts{Dirs: []string{t.TempDir()}, Open: func() (Files, error) {
				if !valid.Load() {
					return nil, &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken"}
				}
				return &staged{content: bytes.NewReader(content), size: int64(len(content))}, nil
			}}
		})
		rm := c.admit()
		c.grant(rm, 0, "j1", msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/wordcount"})
		synctest.Wait() // the fetch has failed
		rm.Send(msg.UpdateTokens{Tokens: msg.Secret("second")})
		next[msg.HostReady](t, c.jm.in) // and no HostLost comes before it
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestWorkerThatEndsWaitsForNoFetch would catch a worker that hangs at its end because HDFS does
// not answer.
func TestWorkerThatEndsWaitsForNoFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe() // the reader gets no data
		defer writer.Close()
		c, _ := fetching(t, DiskArtifacts{Dirs: []string{t.TempDir()}, Open: func() (Files, error) {
			return &staged{content: reader, size: 9}, nil
		}})
		rm := c.admit()
		c.grant(rm, 0, "j1", msg.Program{Name: "wordcount", SHA256: "11", URI: "hdfs://ns/wordcount"})
		rm.Send(msg.ReleaseTaskExecutor{Cause: "idle"})
		c.finish(nil)
	})
}

// TestProgramThatCannotBeFetchedIsTold would catch a job that waits for ever for its program, that tries one node
// after the other though the file is another one, or fails without the reason, and a worker that remembers the failure.
func TestProgramThatCannotBeFetchedIsTold(t *testing.T) {
	content := []byte("program")
	wordcount := msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/wordcount"}
	dir := filepath.Join(t.TempDir(), "programs")
	synctest.Test(t, func(t *testing.T) {
		damaged := true
		c, _ := fetching(t, DiskArtifacts{Dirs: []string{dir}, Open: func() (Files, error) {
			source := bytes.Clone(content)
			if damaged {
				source[0] ^= 1
			}
			return &staged{content: bytes.NewReader(source), size: int64(len(source))}, nil
		}})
		rm := c.admit()
		jm := c.grant(rm, 0, "j1", wordcount)
		lost := next[msg.HostLost](t, c.jm.in)
		if lost.Reason == msg.HostUnavailable || !lost.Failure.Permanent {
			t.Errorf("the JobMaster is told %+v", lost)
		}
		for _, part := range []string{wordcount.Name, wordcount.SHA256, wordcount.URI, program.ErrChanged.Error()} {
			if !strings.Contains(lost.Failure.Message, part) {
				t.Errorf("the failure does not name %s: %s", part, lost.Failure.Message)
			}
		}
		if left := folders(t, dir); len(left) > 0 {
			t.Errorf("programs %v are left behind", left)
		}
		leave(t, c, jm, "a1")
		damaged = false
		c.grant(rm, 0, "j2", wordcount)
		next[msg.HostReady](t, c.jm.in)
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestFetchedProgramRunsAsAHost fetches this test's own binary by its hash and
// runs it, in real time.
func TestFetchedProgramRunsAsAHost(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "programs")
	c := startCluster(t, starter(t, ""), func(_ *Config, env *Environment) {
		env.Artifacts = DiskArtifacts{Dirs: []string{dir}, Open: func() (Files, error) { return dfs.New(dfs.Options{}), nil }}
	})
	rm := c.admit()
	jm := c.grant(rm, 0, "j1", msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "file://" + executable(t)})
	ready := await[msg.HostReady](t, c.jm.in)
	pid, err := strconv.Atoi(ready.DataAddress)
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err != nil || runs != filepath.Join(dir, "1", "wordcount") {
		t.Errorf("the host runs %s, %v", runs, err)
	}
	jm.Send(msg.FreeSlots{Allocations: []ids.AllocationID{"a1"}, Cause: "job has ended"})
	await[msg.SlotsFreed](t, c.rm.in)
	c.stop(nil)
	c.finish(context.Canceled)
	if left := folders(t, dir); len(left) > 0 {
		t.Errorf("programs %v are left behind", left)
	}
}

// TestCachedFilesAreThereForTheirJobs would catch a host that is told its job before the job's files are here,
// a file that is copied once for each job, copies that fill one disk only, and one that outlives its jobs.
func TestCachedFilesAreThereForTheirJobs(t *testing.T) {
	disks := []string{t.TempDir(), t.TempDir()}
	source := filepath.Join(t.TempDir(), "cities.csv")
	if err := os.WriteFile(source, []byte("Rome"), 0o600); err != nil {
		t.Fatal(err)
	}
	cities := jobgraph.CachedFile{Name: "cities", URI: "file://" + source}
	towns := cities
	towns.Name = "towns"
	tool := jobgraph.CachedFile{Name: "tool", URI: "file://" + source, Executable: true}
	synctest.Test(t, func(t *testing.T) {
		told := make(chan msg.StartHost, 2)
		hosts := goroutineHosts{behave: func(c *control.Conn, _ <-chan struct{}) string {
			return obey(c, func(m msg.StartHost) { told <- m })
		}}
		c := startCluster(t, hosts, func(c *Config, env *Environment) {
			c.Slots, c.VCores = 2, 2
			env.Artifacts = DiskArtifacts{Dirs: disks, Open: func() (Files, error) { return dfs.New(dfs.Options{}), nil }}
		})
		rm := c.admit()
		program := msg.Program{SHA256: "5a"}
		first := c.grant(rm, 0, "j1", program, cities, tool)
		next[msg.HostReady](t, c.jm.in)
		second := c.grant(rm, 1, "j2", program, towns)
		next[msg.HostReady](t, c.jm.in)
		one, two := filepath.Join(disks[1], "1", "cities.csv"), filepath.Join(disks[0], "2", "cities.csv")
		for _, want := range []map[string]string{{"cities": one, "tool": two}, {"towns": one}} {
			if m := <-told; !maps.Equal(m.Files, want) {
				t.Errorf("job %s has the files %v, want %v", m.Job.ID, m.Files, want)
			}
		}
		for path, mode := range map[string]os.FileMode{one: 0o400, two: 0o500} {
			if info, err := os.Stat(path); err != nil || info.Mode() != mode {
				t.Errorf("%s has the mode %v, %v, want %v", path, info.Mode(), err, mode)
			}
		}
		stop(t, c, first, "a1")
		synctest.Wait()
		if there := append(folders(t, disks[0]), folders(t, disks[1])...); !slices.Equal(there, []string{"1"}) {
			t.Errorf("after the first job there are %v, want the file of the second job", there)
		}
		stop(t, c, second, "a2")
		synctest.Wait()
		if there := append(folders(t, disks[0]), folders(t, disks[1])...); len(there) > 0 {
			t.Errorf("after the jobs there are %v", there)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestAFileThatCannotBeFetchedIsTold would catch a job that waits for ever for its file, a host of that job that
// stays, and a file that is gone taken for a fault of the node: the job would try one node after the other.
func TestAFileThatCannotBeFetchedIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		text      string
		open      func() (Files, error)
		reason    msg.HostLostReason
		permanent bool
	}{
		"it is gone": {
			"the file is gone", func() (Files, error) { return dfs.New(dfs.Options{}), nil }, msg.HostFailed, true,
		},
		"there is no way to its file system": {
			"network is unreachable", func() (Files, error) { return nil, syscall.ENETUNREACH }, msg.HostUnavailable, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				c, _ := fetching(t, DiskArtifacts{Dirs: []string{dir}, Open: test.open})
				f := jobgraph.CachedFile{Name: "cities", URI: "file://" + dir + "/gone"}
				jm := c.grant(c.admit(), 0, "j1", msg.Program{SHA256: "5a"}, f)
				lost := next[msg.HostLost](t, c.jm.in)
				if lost.Reason != test.reason || lost.Failure.Permanent != test.permanent || !strings.Contains(lost.Failure.Message, "fetch cached file "+f.URI+": "+test.text) {
					t.Errorf("the JobMaster is told %+v", lost)
				}
				leave(t, c, jm, "a1")
				if left := folders(t, dir); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				c.stop(nil)
				c.finish(context.Canceled)
			})
		})
	}
}
