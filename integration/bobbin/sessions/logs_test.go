package sessions

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestLogsOfASessionAreFollowed would catch a follower that misses workers that start later or end
// earlier than it, that prints a line twice, or that does not end with the session. It would also
// catch a worker whose logs cannot be read after its end.
func TestLogsOfASessionAreFollowed(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "resourcemanager.taskmanager-timeout=5s", "-D", "slot.idle.timeout=1s")
	follower := u.Start(t, "logs", "-f", id)
	follower.Says(t, "==== jobmanager.log of ")
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\n")
	if got := u.Run(t, "run", suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "to"); got.Code != 0 {
		t.Fatal(got)
	}
	const first = `msg="task executor starts"` // its last line may be missing, because YARN ends it during that
	follower.Says(t, first)
	worker := regexp.MustCompile(`==== taskmanager.log of (\S+) on`).FindStringSubmatch(follower.Seen().Stdout)
	if worker == nil {
		t.Fatal(follower.Seen())
	}
	wait.For(t, "the worker has ended", func() (bool, error) {
		return len(bobbintest.ProcessesIn(t, id, bobbintest.TaskExecutor)) == 0, nil
	})
	ended := u.Run(t, "logs", "-f", "--container", worker[1], "--file", "taskmanager.log", id)
	if ended.Code != 0 || !strings.Contains(ended.Stdout, first) || !strings.Contains(ended.Stderr, worker[1]+" has ended") {
		t.Errorf("the worker's own: %s", ended)
	}
	if got := u.Run(t, "session", "stop"); got.Code != 0 {
		t.Fatal(got)
	}
	got := follower.Wait(t)
	if got.Code != 0 {
		t.Fatal(got)
	}
	all := u.Run(t, "logs", id)
	if diff := cmp.Diff(content(all.Stdout), content(got.Stdout)); all.Code != 0 || diff != "" {
		t.Errorf("the followed log differs from the log (-logs +followed): exit code %d\n%.3000s", all.Code, diff)
	}
}

// content returns the sorted lines of logs, without the lines that name a log, because followers
// see lines in another order.
func content(printed string) []string {
	lines := strings.Split(printed, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.HasPrefix(line, "==== ") })
	slices.Sort(lines)
	return lines
}
