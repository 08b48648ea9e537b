package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// asChild makes the test binary a process that a test watches. The process holds some memory until its standard input
// ends.
const asChild = "BOBBIN_BENCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		held := make([]byte, childHolds)
		for i := range held {
			held[i] = 1
		}
		_, _ = os.Stdout.WriteString("ready\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(int(held[0]) - 1)
	}
	os.Exit(clusters.Main(m))
}

const childHolds = 16 << 20

// TestPageIsMade would catch a benchmark that does not work with the current code. It measures every section that is
// not long and does not need java once, on a real cluster.
func TestPageIsMade(t *testing.T) {
	cluster.Long(t)
	c := open(t)
	page := pageOf(t, c, options{only: []string{"cold", "tiny", "memory", "workers", "session", "files"}})
	for _, want := range []string{
		"| `bobbin version` ", "| size of `bobbin` ", "| RUNNING ", "| uploaded bobbin ", "| **command ended** ",
		"| ApplicationMaster ", "| TaskExecutor and task host ", "| 10 ",
		"| session reached ",
	} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("the page has no row %q:\n%s", want, page)
		}
	}
	// of the tiny job: cached in two containers, in one, and not cached
	if ends := regexp.MustCompile(`\n\| \*\*command ended\*\* +\| [^|]+(\| \*\*\d+ ms\*\* +){3}\|`); !ends.MatchString(page) {
		t.Errorf("not all columns of the tiny job have a time:\n%s", page)
	}
}

// TestSectionsBesideJavaAreMade would catch Java and Go programs that no longer do the same, and a fleet of
// NodeManagers that no longer gets containers. It has a cluster of its own, because containers of other tests would not
// run on that fleet.
func TestSectionsBesideJavaAreMade(t *testing.T) {
	cluster.Long(t)
	c := clusters.Own(t, cluster.Config{NodeManagers: 1, Heartbeat: time.Second, Users: []string{user}})
	page := pageOf(t, c, options{only: []string{"calls", "processes", "protected", "asks", "streams", "nodes"}, calls: 1000})
	if !strings.Contains(page, "makes one call under authentication ends after ") {
		t.Errorf("the page does not say how long a first call takes with Kerberos:\n%s", page)
	}
	for _, want := range []string{"| 64      | Java ", "| 10000 | 16      | Java ", "| token    | privacy ", "| Bobbin | ", "| **10000** ", "| **last worker registered** "} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("the page has no row %q:\n%s", want, page)
		}
	}
}

// TestFlinkIsMeasuredBesideBobbin would catch a Flink that no longer runs the same job, or that is compared with the
// wrong figures.
func TestFlinkIsMeasuredBesideBobbin(t *testing.T) {
	cluster.Long(t)
	home, err := exec.CommandContext(t.Context(), "../../scripts/flink").Output()
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, open(t), options{only: []string{"submit"}, flink: strings.TrimSpace(string(home))})
	if version := regexp.MustCompile(`Flink is 1\.20\.\d+, on java \d+`); !version.MatchString(page) {
		t.Errorf("the page does not name Flink's version:\n%s", page)
	}
	compared := regexp.MustCompile(`(?m)^\| [^|]+ \| [\d.]+ (ms|MiB) +\| [\d.]+ (ms|MiB) +\| \d+\.\d+ +\|`)
	if rows := compared.FindAllString(strings.ReplaceAll(page, "**", ""), -1); len(rows) != 12 {
		t.Errorf("%d rows compare Bobbin and Flink, want 12:\n%s", len(rows), page)
	}
}

// TestTheEngineIsMeasured would catch a job of Flink that no longer runs, or that has another output than Bobbin's, and columns that
// stay empty.
func TestTheEngineIsMeasured(t *testing.T) {
	cluster.Long(t)
	home, err := exec.CommandContext(t.Context(), "../../scripts/flink").Output()
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, open(t), options{only: []string{"wordcount", "sort", "join", "group", "exchange"}, size: 8, growth: true, flink: strings.TrimSpace(string(home))})
	page = strings.ReplaceAll(page, "**", "")
	for _, row := range []string{
		`processor time of the job +\| 1.05 × by hand and HDFS +\| [\d.]+ × +(\| [\d.]+ s +){5}`,
		`bytes for a second of processor time +\| 7 × Flink's best +\| [\d.]+ × +(\| [\d.]+ MB +){5}`,
		`peak memory, PSS +\| +\| +(\| [1-9][\d.]+ MiB +){3}`,
		`sort of 8 MiB: Bobbin +\| 3 × Flink's best +\| [\d.]+ × +\| [\d.]+ s +\| \d+ MB/s +\| [\d.]+ s +\| [\d.]+ MB +\| [1-9][\d.]+ MiB +`,
		`sort of 8 MiB: Flink, DataSet +\| +\| +\| [\d.]+ s +`,
		`sort of 32 MiB: Bobbin +\| 1.1 × the processor time for a byte of sort of 8 MiB +\| [\d.]+ × +`,
		`join of 8 MiB × 8 MiB: Flink, SQL +\| +\| +\| [\d.]+ s +`,
		`group by with 390625 keys: Flink, SQL +\| +\| +\| [\d.]+ s +`,
		`TLS +\| 16 +\| 30 ns +\| \d+ MB/s +\| \d+ % +\| [\d.]+ ns +`,
		`plain +\| raw +\| +\| \d+ MB/s +\|`,
	} {
		if !regexp.MustCompile(`(?m)^\| ` + row + `\|`).MatchString(page) {
			t.Errorf("the page has no row %q:\n%s", row, page)
		}
	}
}

// TestFailoversAreMeasured would catch a session that does not outlive its ApplicationMaster, of Bobbin or of Flink, and
// a time that is missing.
func TestFailoversAreMeasured(t *testing.T) {
	cluster.Long(t)
	home, err := exec.CommandContext(t.Context(), "../../scripts/flink").Output()
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, open(t), options{only: []string{"failover"}, flink: strings.TrimSpace(string(home))})
	measured := regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]* \| [\d.]+ s +\| [\d.]+ s +\| [\d.]+ s +\|`)
	if rows := measured.FindAllString(page, -1); len(rows) != 4 {
		t.Errorf("%d rows have all times, want 4:\n%s", len(rows), page)
	}
}

// open returns the run's open cluster, with a home for the user of the benchmarks.
func open(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := clusters.Use(t, clusters.Open)
	files, err := c.HDFS()
	if err == nil {
		err = files.Mkdir(t.Context(), "/user/"+user, user, "755")
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pageOf builds the programs to measure, and measures once.
func pageOf(t *testing.T, c *cluster.Cluster, o options) string {
	t.Helper()
	bin := t.TempDir()
	for target, pkg := range map[string]string{
		bin + "/": "../../client/cmd/bobbin", bin + "/rusage": "./rusage", bin + "/calls": "./calls", bin + "/asks": "./asks",
		bin + "/streams":                  "./streams",
		bin + "/records":                  "./records",
		bin + "/jobs":                     "./jobs",
		bin + "/dawdle":                   "../internal/programs/dawdle",
		bin + "/examples/wordcount-tuned": "../../examples/wordcount-tuned", bin + "/examples/gentext": "../../examples/gentext",
	} {
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", target, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	o.bin, o.runs = bin, 1
	r, err := newRig(t.Context(), o, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	var out strings.Builder
	e := edition{machine: machine{processor: "any"}, hadoop: c.Version(), sections: chosen(o.only), log: log}
	if err := e.publish(t.Context(), r, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestContainersAreWatched would catch memory that is assigned to no container, or to the wrong one.
func TestContainersAreWatched(t *testing.T) {
	start(t, "bobbin", "CONTAINER_ID=container_before", "appmaster")
	seen, err := newContainers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]string{
		{"bobbin", "CONTAINER_ID=container_1", "appmaster"},
		{"bobbin", "CONTAINER_ID=container_2", "taskexecutor"},
		{"program", "CONTAINER_ID=container_2"},
		{"bobbin", "OTHER=client", "run"},
		{"bash", "CONTAINER_ID=container_2"},
	} {
		start(t, p[0], p[1], p[2:]...)
		if err := seen.sample(); err != nil { // each time, because the next process may get the id of an ended one
			t.Fatal(err)
		}
	}
	// This machine may have any number of other containers.
	if !seen.masters["container_1"] || seen.masters["container_2"] {
		t.Errorf("masters are %v", seen.masters)
	}
	if before, is := seen.peaks["container_before"]; is {
		t.Errorf("a process that existed before is watched: %+v", before)
	}
	// The race detector multiplies a process's memory.
	one, two := seen.peaks["container_1"], seen.peaks["container_2"]
	if one.RSS < childHolds || two.RSS < one.RSS*3/2 || two.RSS > one.RSS*5/2 {
		t.Errorf("one process holds %+v, two hold %+v, want %d or more and twice that; containers' processes are %v", one, two, childHolds, seen.inside)
	}
	if one.PSS < childHolds || one.PSS >= one.RSS {
		t.Errorf("of %d bytes, %d are a process's own, want more than %d and less than all", one.RSS, one.PSS, childHolds)
	}
}

// TestAnApplicationIsTheSumOfItsContainers would catch the memory of another application, and containers of Flink that are
// not seen.
func TestAnApplicationIsTheSumOfItsContainers(t *testing.T) {
	seen, err := newContainers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]string{
		{"CONTAINER_ID=container_1700000000000_0042_01_000001", "-cp", "x", flinkMasters + "YarnJobClusterEntrypoint"},
		{"CONTAINER_ID=container_1700000000000_0042_01_000002", "org.apache.flink.yarn.YarnTaskExecutorRunner"},
		{"CONTAINER_ID=container_1700000000000_0043_01_000001"},
	} {
		start(t, flinkProcess, p[0], p[1:]...)
	}
	if err := seen.sample(); err != nil {
		t.Fatal(err)
	}
	both, other := seen.totals[application(t, "application_1700000000000_0042")], seen.totals[application(t, "application_1700000000000_0043")]
	if other.RSS < childHolds || both.RSS < other.RSS*3/2 || both.RSS > other.RSS*5/2 {
		t.Errorf("two processes hold %+v, one holds %+v, want %d or more and twice that", both, other, childHolds)
	}
	if !seen.masters["container_1700000000000_0042_01_000001"] || seen.masters["container_1700000000000_0042_01_000002"] {
		t.Errorf("masters are %v", seen.masters)
	}
}

func application(t *testing.T, text string) records.ApplicationID {
	t.Helper()
	id, err := records.ParseApplicationID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSpentBytesAreAddedOnce would catch bytes that count again at each reading, and those of an ended process that are lost
// when its id comes back.
func TestSpentBytesAreAddedOnce(t *testing.T) {
	seen, err := newContainers()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	id, pid := application(t, "application_1700000000000_0042"), os.Getpid()
	read := func() int64 {
		t.Helper()
		if err := seen.addSpent(id, pid); err != nil {
			t.Fatal(err)
		}
		return seen.used[id].Written
	}
	first := read()
	again := read()
	seen.forget(nil)
	if now := read(); again < first || now < again+first {
		t.Errorf("%d bytes, then %d, and %d with those of another process of the same id", first, again, now)
	}
}

// TestBytesOfAnEndedChildAreAddedOnce would catch bytes that count for a process and for its parent: the kernel adds them to the parent's
// when the process has ended.
func TestBytesOfAnEndedChildAreAddedOnce(t *testing.T) {
	seen, err := newContainers()
	if err != nil {
		t.Fatal(err)
	}
	id := application(t, "application_1700000000000_0042")
	read := func(pid int) int64 {
		t.Helper()
		if err := seen.addSpent(id, pid); err != nil {
			t.Fatal(err)
		}
		return seen.used[id].Written
	}
	before := read(os.Getpid())
	const size = 8 << 20
	child := exec.Command("sh", "-c", fmt.Sprintf("dd if=/dev/zero of=file bs=%d count=1 conv=fsync && echo written && read end", size))
	child.Dir = t.TempDir()
	end, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if now := read(child.Process.Pid); now-before < size {
		t.Fatalf("%d bytes count, want %d: is %s on a disk?", now-before, size, child.Dir)
	}
	_, _ = io.WriteString(end, "\n")
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	running, err := processIDs()
	if err != nil {
		t.Fatal(err)
	}
	seen.forget(running)
	if now := read(os.Getpid()); now-before < size || now-before > size*3/2 {
		t.Errorf("%d bytes count when the child has ended, want %d", now-before, size)
	}
}

// TestAnApplicationsMasterIsFound would catch the memory of another application, of another container, or of the shell
// that waits for the master.
func TestAnApplicationsMasterIsFound(t *testing.T) {
	id := application(t, "application_1700000000000_0001")
	for _, container := range []string{"container_1700000000000_0001_01_000002", "container_1700000000000_0011_01_000001"} {
		start(t, "java", "CONTAINER_ID="+container)
	}
	if held, err := masterOf(id); err == nil {
		t.Errorf("it holds %d without a master", held)
	}
	start(t, "java", "CONTAINER_ID=container_1700000000000_0001_01_000001")
	if held, err := masterOf(id); err != nil || held < childHolds {
		t.Errorf("it holds %d (%v), want %d or more", held, err, childHolds)
	}
}

// TestLargestIsOfEachKind would catch a worker that counts as a master.
func TestLargestIsOfEachKind(t *testing.T) {
	c := containers{
		masters: map[string]bool{"m": true},
		peaks:   map[string]resident{"m": {RSS: 9, PSS: 8}, "a": {RSS: 5, PSS: 4}, "b": {RSS: 7, PSS: 1}},
	}
	master, worker := c.largest()
	if master != (resident{9, 8}) || worker != (resident{7, 4}) {
		t.Errorf("master %+v, worker %+v", master, worker)
	}
}

// start starts a process with this name until the test ends, and waits until it holds its memory.
func start(t *testing.T, name, entry string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), link, args...) // the clean-up ends it
	cmd.Env = []string{asChild + "=1", entry}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestChildrensTimeIsReadFromTheKernel would catch a time from the wrong field, or in the wrong unit.
func TestChildrensTimeIsReadFromTheKernel(t *testing.T) {
	got, err := childrenCPU([]byte("7 (a) b) 1 2) S 1 7 7 0 -1 4194560 100 200 300 400 11 12 1300 14 20 0 1 0 5 6 7\n"))
	if want := (1300 + 14) * 10 * time.Millisecond; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 100 200 300 400 11 12 x 14 20"} {
		if got, err := childrenCPU([]byte(text)); err == nil {
			t.Errorf("childrenCPU(%q) = %v without an error", text, got)
		}
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &before); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &after); err != nil {
		t.Fatal(err)
	}
	stat, err := readProcess(os.Getpid(), "stat")
	if err != nil {
		t.Fatal(err)
	}
	got, err = childrenCPU(stat)
	want := time.Duration(after.Utime.Nano() + after.Stime.Nano())
	if err != nil || (got-want).Abs() > 2*clockTick || want <= time.Duration(before.Utime.Nano()) {
		t.Errorf("children took %v, %v; getrusage says %v", got, err, want)
	}
}

var wordPattern = regexp.MustCompile(`[A-Za-z0-9_]+`)

// TestCountByHandIsACount would catch a yardstick that is fast because it counts wrongly: words at the borders of
// parts, or at the end of the file.
func TestCountByHandIsACount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"The", "the", "x_1", " ", ".\n", "--", "é"})).Draw(rt, "text"), "")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			rt.Fatal(err)
		}
		distinct := map[string]bool{}
		all := wordPattern.FindAllString(text, -1)
		for _, word := range all {
			distinct[strings.ToLower(word)] = true
		}
		words, different, err := countByHand(path, rapid.IntRange(1, 5).Draw(rt, "parts"))
		if err != nil || words != int64(len(all)) || different != int64(len(distinct)) {
			rt.Fatalf("%d words, %d distinct, %v; want %d and %d", words, different, err, len(all), len(distinct))
		}
	})
}

func TestTablesAreAligned(t *testing.T) {
	made := table{head: []string{"what", "é"}}
	made.row("a", "22 ms")
	made.row("longer")
	want := "| what   | é     |\n| ------ | ----- |\n| a      | 22 ms |\n| longer |       |\n"
	if diff := cmp.Diff(want, made.markdown()); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}
}

// TestComparisonsAreRatiosOfMedians would catch a ratio of other numbers than those beside it, a row that fails without
// Flink, and a row that does not mark a missed goal.
func TestComparisonsAreRatiosOfMedians(t *testing.T) {
	run := func(millis ...int) (runs []usage) {
		for _, ms := range millis {
			runs = append(runs, usage{Wall: time.Duration(ms) * time.Millisecond, Peak: 1 << 20})
		}
		return runs
	}
	var got table
	got.compare("just reached", 0.25, run(30, 10, 20), run(80, 90, 1))
	got.compare("missed", 0.25, run(21), run(80))
	got.compare("of no mark", noMark, run(80), run(20))
	got.compare("no Flink", 0.25, run(20), nil)
	got.compareMemory("memory", 0.5, peaks(run(5)), peaks(run(5)))
	want := [][]string{
		{"just reached", "20 ms (10 ms to 30 ms)", "80 ms (1 ms to 90 ms)", "0.250", "0.25"},
		{"**missed**", "**21 ms**", "**80 ms**", "**0.263**", "**0.25**"},
		{"of no mark", "80 ms", "20 ms", "4.000", ""},
		{"no Flink", "20 ms", "", "", "0.25"},
		{"**memory**", "**1.0 MiB**", "**1.0 MiB**", "**1.000**", "**0.5**"},
	}
	if diff := cmp.Diff(want, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestMeasuredSectionsReplaceThoseOfTheirTitles would catch a page that loses sections that were not measured again, or
// has a section twice.
func TestMeasuredSectionsReplaceThoseOfTheirTitles(t *testing.T) {
	section := func(title, text string) table {
		return table{title: title, text: text, date: "2026-11-21", load: "0.5", head: []string{"h"}}
	}
	old := page(machine{}, "3.4.3", []table{section("A", "Old."), section("A b", "Kept."), section("C", "Kept, too.")})
	want := page(machine{}, "3.4.3", []table{section("A", "New."), section("A b", "Kept."), section("C", "Kept, too."), section("D", "More.")})
	if diff := cmp.Diff(want, merge(old, []table{section("A", "New."), section("D", "More.")})); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	for _, text := range []string{"\n## D\n\nMore. Measured on 2026-11-21; load before: 0.5.\n\n| h |\n", "| 3.4.3       |\n\n## A\n"} {
		if !strings.Contains(want, text) {
			t.Errorf("the page has no %q:\n%s", text, want)
		}
	}
}

// TestARenamedSectionReplacesItsOldOne would catch a page that keeps figures under an old title for ever, or has a section twice
// after the second measurement.
func TestARenamedSectionReplacesItsOldOne(t *testing.T) {
	section := func(title, was string) table {
		return table{title: title, was: was, text: "Text.", head: []string{"h"}}
	}
	old := page(machine{}, "3.4.3", []table{section("Old", ""), section("Old too", "")})
	want := page(machine{}, "3.4.3", []table{section("New", ""), section("Old too", "")})
	once := merge(old, []table{section("New", "Old")})
	if diff := cmp.Diff(want, once); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(once, merge(once, []table{section("New", "Old")})); diff != "" {
		t.Errorf("measured again (-want +got):\n%s", diff)
	}
}

func TestSpreadsNameTheMedianAndBothEnds(t *testing.T) {
	for want, values := range map[string][]time.Duration{
		"5 ms":                {5e6},
		"5 ms (1 ms to 9 ms)": {9e6, 1e6, 5e6},
	} {
		if got := spread(values, millis); got != want {
			t.Errorf("spread(%v) = %q, want %q", values, got, want)
		}
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, line := range []string{"-only fast", "-only cold,,", "-runs x", "-size 0", "cold", "-x"} {
		if o, err := parse(strings.Fields(line), io.Discard); err == nil {
			t.Errorf("%q is parsed as %+v", line, o)
		}
	}
	o, err := parse(strings.Fields("-only cold,wordcount -runs 2"), io.Discard)
	if diff := cmp.Diff([]string{"cold", "wordcount"}, o.only); err != nil || diff != "" || o.runs != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestProcessesThatHaveEndedAreForgotten would catch a container's process that is not counted because an earlier
// process had its id.
func TestProcessesThatHaveEndedAreForgotten(t *testing.T) {
	c := containers{others: map[int]bool{2: true, 3: true}, inside: map[int]string{4: "container_1", 5: "container_1"}}
	c.forget([]int{1, 3, 5})
	if diff := cmp.Diff(map[int]bool{3: true}, c.others); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]string{5: "container_1"}, c.inside); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
}
