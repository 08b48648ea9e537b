package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// holderVariable makes the test binary the process that holds a cluster; its value is the folder.
const holderVariable = "BOBBIN_TEST_HOLD_CLUSTER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderVariable); dir != "" {
		if err := holdCluster(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// holdCluster starts a reaper and a process for it to reap, prints the pid of that process, and waits to be killed.
func holdCluster(dir string) error {
	if _, err := startReaper(marks(dir)); err != nil {
		return err
	}
	cmd, err := startBegun(dir)
	if err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

func startMarked(dir string) (*exec.Cmd, error) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = environment(mark(dir))
	return cmd, cmd.Start()
}

// startBegun returns when the process has its mark in /proc.
func startBegun(dir string) (*exec.Cmd, error) {
	cmd, err := startMarked(dir)
	if err != nil {
		return nil, err
	}
	return cmd, wait.Poll(context.Background(), "sleep to begin", func() error { return begun(cmd.Process.Pid) })
}

// TestADaemonThatHasJustBegunHasNotEnded would catch a daemon that counts as ended because the kernel does not show its
// environment yet. On a busy machine this happens for one in thirty.
func TestADaemonThatHasJustBegunHasNotEnded(t *testing.T) {
	dir := t.TempDir()
	for range 200 {
		cmd, err := startMarked(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := wait.Poll(t.Context(), "sleep to begin", func() error { return begun(cmd.Process.Pid) }); err != nil {
			t.Error(err)
		}
		if !marked(cmd.Process.Pid, dir) {
			t.Errorf("process %d has begun and is not found by its mark", cmd.Process.Pid)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
		if err := begun(cmd.Process.Pid); err != nil {
			t.Errorf("process %d has ended: %v", cmd.Process.Pid, err)
		}
	}
}

// TestClusterEndsWithTheProcessThatStartedItEvenBySIGKILL would catch daemons that remain after a test that panicked,
// reached its time limit or was killed.
func TestClusterEndsWithTheProcessThatStartedItEvenBySIGKILL(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0])
	holder.Env = environment(holderVariable + "=" + dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !marked(pid, dir) {
		t.Fatalf("process %d of the cluster is not alive", pid)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // the state says that it was killed
	err = wait.Poll(t.Context(), "the cluster's end", func() error {
		if marked(pid, dir) {
			return fmt.Errorf("process %d is alive", pid)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReapSparesOtherClusters would catch a comparison of marks by prefix.
func TestReapSparesOtherClusters(t *testing.T) {
	dir := t.TempDir()
	mine, err := startBegun(dir)
	if err != nil {
		t.Fatal(err)
	}
	others, err := startBegun(dir + "2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = others.Process.Kill()
		_ = others.Wait()
	}()
	if err := reap(dir); err != nil {
		t.Fatal(err)
	}
	if err := mine.Wait(); err == nil || mine.ProcessState.Success() {
		t.Errorf("process of the cluster ended with %v, want killed", err)
	}
	if !marked(others.Process.Pid, dir+"2") {
		t.Error("process of another cluster was killed")
	}
}

// TestAPidThatWasGivenAnewIsNoDaemons would catch a signal to an ended daemon that ends another one. The pid may now
// belong to a thread of the other daemon, which has the same mark.
func TestAPidThatWasGivenAnewIsNoDaemons(t *testing.T) {
	dir := t.TempDir()
	d := daemon{Name: "resourcemanager1", Kind: resourceManager}
	c := &Cluster{spec: &spec{Dir: dir, Daemons: []daemon{d}}}
	if err := c.spec.write(); err != nil {
		t.Fatal(err)
	}
	process, err := startBegun(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	if err := c.spec.notePid(d, process.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if pid, alive := c.Pid(d.Name); pid != process.Process.Pid || !alive {
		t.Errorf("%s is process %d, alive: %t", d.Name, pid, alive)
	}
	began, err := startTime(process.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.spec.pidFile(d), fmt.Appendln(nil, process.Process.Pid, began-1), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Running(d.Name) {
		t.Error("what has begun after the daemon is taken for it")
	}
	if err := c.Stop(t.Context(), d.Name); err == nil {
		t.Error("it is stopped in its place")
	}
}

// TestTheClustersOfARunEndTogether would catch a run whose clusters outlive it, and a run that ends clusters of others.
func TestTheClustersOfARunEndTogether(t *testing.T) {
	dir := t.TempDir()
	var clusters []*exec.Cmd
	others := map[string]*exec.Cmd{}
	for _, name := range []string{dir + "/open", dir + "/secure"} {
		process, err := startBegun(name)
		if err != nil {
			t.Fatal(err)
		}
		clusters = append(clusters, process)
	}
	for _, name := range []string{dir + "2/open", "/elsewhere" + dir + "/open"} {
		process, err := startBegun(name)
		if err != nil {
			t.Fatal(err)
		}
		others[name] = process
	}
	defer func() {
		for _, process := range others {
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	}()
	end, err := EndWithThisProcess(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for _, process := range clusters {
		if err := process.Wait(); err == nil || process.ProcessState.Success() {
			t.Errorf("process of the run's cluster ended with %v, want killed", err)
		}
	}
	for name, process := range others {
		if !marked(process.Process.Pid, name) {
			t.Errorf("the process of %s, of another run, was killed", name)
		}
	}
}

// TestStartRefusesAFolderThatIsNotAClusters would catch a start that removes a person's files in the folder.
func TestStartRefusesAFolderThatIsNotAClusters(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := claimDir(dir); err == nil || !strings.Contains(err.Error(), "not a cluster's") {
		t.Errorf("error %v, want one that says the folder holds no cluster", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// TestDifferences would catch a comparison that overlooks a lost setting.
func TestDifferences(t *testing.T) {
	want := map[string]string{"same": "1", "changed": "2", "lost": "3", "hidden": "secret"}
	got := map[string]string{"same": "1", "changed": "20", "hidden": "<redacted>", "further": "4"}
	diff := strings.Join(differences(want, got), "; ")
	if diff != `changed is "20", want "2"; lost is "", want "3"` {
		t.Errorf("got %s", diff)
	}
}

// TestSiteXMLKeepsValuesThatXMLWouldNot would catch values that are not escaped, or that are trimmed. An ACL of one
// space means no user, and an empty ACL all users.
func TestSiteXMLKeepsValuesThatXMLWouldNot(t *testing.T) {
	text, err := siteXML(map[string]string{"b": " ", "a": "x<y&z"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<value>x&lt;y&amp;z</value>", "<value> </value>"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// TestPortsAreHandedOutOnce would catch two servers with the same address, also of clusters that start at the same
// moment.
func TestPortsAreHandedOutOnce(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		p, err := claimPorts()
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		for range blockPorts - 10 { // some may be in use by other programs
			address := p.on("127.0.0.1")
			if address == "" || seen[address] {
				t.Fatalf("address %q after %d others, %v", address, len(seen), p.err)
			}
			seen[address] = true
		}
	}
}

// TestFreePortsAreNobodyElses would catch two servers with one port, and a port that a cluster or a connection may take before the
// server listens there.
func TestFreePortsAreNobodyElses(t *testing.T) {
	ports, err := FreePorts(500)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port >= firstPort || port < 1024 {
			t.Fatalf("port %d", port)
		}
		seen[port] = true
	}
}

// TestPortsKeepAwayFromARunningCluster would catch a block that is given out while one of its ports is in use on any
// address. A daemon that restarts there would find its port in use.
func TestPortsKeepAwayFromARunningCluster(t *testing.T) {
	p, err := claimPorts()
	if err != nil {
		t.Fatal(err)
	}
	first := p.next - 1
	daemon, err := net.Listen("tcp4", p.on("127.0.0.3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.release(); err != nil {
		t.Fatal(err)
	}
	if p, err := claimBlock(first); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("beside a daemon: got %+v, %v", p, err)
	}
	if err := daemon.Close(); err != nil {
		t.Fatal(err)
	}
	p, err = claimBlock(first)
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	if err := p.release(); err != nil {
		t.Fatal(err)
	}
}
