package randomjobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
)

// damage is what a job does to its own files. Tasks run in the test's process, and find it by a name.
type damage struct {
	files    func() ([]string, error) // that exist now
	once     sync.Once
	flipped  atomic.Int64
	attempts atomic.Int64 // of the tasks that read the exchange
	groups   atomic.Int64 // that were begun
}

var damages sync.Map // by the name of the test

// strike flips a byte of each block of the files, when it is called first.
func (d *damage) strike() (err error) {
	d.once.Do(func() {
		var paths []string
		if paths, err = d.files(); err != nil {
			return
		}
		for _, path := range paths {
			if err = d.flip(path); err != nil {
				return
			}
		}
	})
	return err
}

// flip changes a byte of each 4 KiB.
func (d *damage) flip(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) { // closed since it was listed
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	one := make([]byte, 1)
	for at := int64(2000); ; at += 4 << 10 {
		if n, _ := f.ReadAt(one, at); n == 0 {
			return nil
		}
		one[0] ^= 4
		if _, err := f.WriteAt(one, at); err != nil {
			return err
		}
		d.flipped.Add(1)
	}
}

// damaged reads lines and counts those of each first byte, by a group whose values exceed memory, behind an exchange. The tasks that
// group damage files: those of the exchange when they start, or those of the sort at the first group.
var damaged = dataflow.Job("damaged", func(p *dataflow.Plan, test string) error {
	found, _ := damages.Load(test)
	d := found.(*damage)
	moved := dataflow.Rebalance(dataflow.ReadText(p, "/in"))
	read := dataflow.FlatMapWith(moved, func(dataflow.Subtask) func([]byte, func([]byte)) {
		if strings.HasSuffix(test, partitionFile) {
			if err := d.strike(); err != nil {
				panic(err)
			}
		}
		d.attempts.Add(1)
		return func(line []byte, emit func([]byte)) { emit(line) }
	})
	byFirst := dataflow.KeyBy(read, func(line []byte) string { return string(line[:1]) })
	counts := dataflow.GroupByKey(byFirst, func(_ context.Context, key string, lines iter.Seq[[]byte], emit func(string)) error {
		if strings.HasSuffix(test, spillFile) {
			if err := d.strike(); err != nil {
				return err
			}
		}
		d.groups.Add(1)
		n, size := 0, 0
		for line := range lines {
			n, size = n+1, size+len(line)
		}
		emit(fmt.Sprintf("%s %d %d", key, n, size))
		return nil
	})
	dataflow.Collect(counts, tallies)
	return nil
})

var tallies = dataflow.NewCollector[string]("tallies")

const (
	partitionFile = "partition"
	spillFile     = "spill"
)

// TestADamagedFileFailsTheAttempt would catch a file of an exchange or of an operator whose damage changes the result, or fails the
// job: only the attempt must fail, and the tasks that wrote the file run again.
func TestADamagedFileFailsTheAttempt(t *testing.T) { //nolint:paralleltest // sets TMPDIR
	content, want := longLines()
	for kind, list := range map[string]func() ([]string, error){partitionFile: partitionFiles, spillFile: spillFiles} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			d := &damage{files: list}
			damages.Store(t.Name(), d)
			files := dataflowtest.NewFiles(map[string]string{"/in/1": content[0], "/in/2": content[1]})
			config := leastMemory()
			config[shuffleMode] = "ALL_EXCHANGES_BLOCKING"
			const tasks = 2
			result := clustertest.Run(t, damaged, t.Name(), clustertest.Options{Files: files, Parallelism: tasks, Config: config})
			got, err := dataflow.Collected(result, tallies)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("counts are %q, want %q", got, want)
			}
			flipped, attempts, groups := d.flipped.Load(), d.attempts.Load(), d.groups.Load()
			if again := attempts > tasks || groups > int64(len(want)); flipped < 10 || !again {
				t.Errorf("%d bytes were changed, %d attempts read and began %d groups: no attempt failed", flipped, attempts, groups)
			}
		})
	}
}

// longLines is two files of lines that no compression makes smaller, and the counts of their lines.
func longLines() (content [2]string, want []string) {
	random := rand.New(rand.NewPCG(1, 1))
	type tally struct{ lines, size int }
	tallies := map[byte]*tally{}
	for i := range content {
		var b bytes.Buffer
		for range 3000 {
			line := make([]byte, 500)
			for at := range line {
				line[at] = byte('!' + random.IntN(90))
			}
			line[0] = byte('a' + random.IntN(4))
			if tallies[line[0]] == nil {
				tallies[line[0]] = new(tally)
			}
			tallies[line[0]].lines++
			tallies[line[0]].size += len(line)
			b.Write(line)
			b.WriteByte('\n')
		}
		content[i] = b.String()
	}
	for first, tally := range tallies {
		want = append(want, fmt.Sprintf("%c %d %d", first, tally.lines, tally.size))
	}
	slices.Sort(want)
	return content, want
}

// partitionFiles are the files of finished exchanges.
func partitionFiles() (paths []string, err error) {
	err = filepath.WalkDir(os.TempDir(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(path, "/partitions/") {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// spillFiles are the files of operators. They have no names, but this process has them open.
func spillFiles() (paths []string, err error) {
	const open = "/proc/self/fd"
	entries, err := os.ReadDir(open)
	for _, entry := range entries {
		if _, failed := strconv.Atoi(entry.Name()); failed != nil {
			continue
		}
		path := filepath.Join(open, entry.Name())
		if name, failed := os.Readlink(path); failed == nil && strings.HasPrefix(name, filepath.Join(os.TempDir(), "spill-")) {
			paths = append(paths, path)
		}
	}
	return paths, err
}
