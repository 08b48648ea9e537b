package dataflow_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

// cluster is an executor with a given answer.
type cluster struct {
	got     dataflow.Execution
	collect func(x dataflow.Execution) error
	result  dataflow.ExecutionResult
	err     error
}

func (c *cluster) Execute(_ context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	c.got = x
	if c.collect != nil {
		if err := c.collect(x); err != nil {
			return dataflow.ExecutionResult{}, err
		}
	}
	return c.result, c.err
}

func environment(c *cluster, config map[string]string) *dataflow.Env {
	return dataflow.NewEnv(dataflow.EnvOptions{
		Args: []string{"--input", "/in"}, Config: config, Executor: c,
		FileSystem: dataflowtest.NewFiles(map[string]string{"/in": "to be\nor not\n"}),
	})
}

var collectLines = dataflow.Job("collect-lines", func(p *dataflow.Plan, input string) error {
	dataflow.Collect(dataflow.ReadText(p, input), lineCollector)
	return nil
})

func TestExecuteHandsThePlannedJobOver(t *testing.T) {
	t.Parallel()
	c := &cluster{result: dataflow.ExecutionResult{JobID: "7", Duration: time.Second, Counters: map[string]int64{"words": 4}}}
	env := environment(c, map[string]string{"parallelism.default": "3"})
	result, err := env.Execute(t.Context(), collectLines, "/in")
	if err != nil {
		t.Fatal(err)
	}
	g := c.got.Graph
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
	if g.Vertices[0].Parallelism != 3 || len(g.Vertices[0].Splits) != 1 || g.Vertices[0].Splits[0].Bytes() != 13 {
		t.Errorf("source vertex %+v, want parallelism 3 and a split of 13 bytes", g.Vertices[0])
	}
	if result.JobID != "7" || result.Duration != time.Second || result.Counters["words"] != 4 || result.Detached {
		t.Errorf("result %+v", result)
	}
	if env.Executions() != 1 || env.Option("parallelism.default") != "3" || env.Option("none") != "" || env.Args()[1] != "/in" {
		t.Errorf("environment: %d executions, args %v", env.Executions(), env.Args())
	}
}

// keeping is a cluster that keeps the jobs of a driver, in order, as an ApplicationMaster does.
type keeping struct {
	kept     []string // the accepted jobs: arguments, and the number of splits
	full     bool     // it refuses one job
	accepted int      // jobs of the present run
}

func (k *keeping) Execute(_ context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	job := fmt.Sprintf("%s with %d splits", x.Graph.Args, len(x.Graph.Vertices[0].Splits))
	again := k.accepted < len(k.kept)
	same := again && strings.HasPrefix(k.kept[k.accepted], string(x.Graph.Args))
	switch {
	case x.Unprepared && !same:
		return dataflow.ExecutionResult{}, fmt.Errorf("execute: %w", dataflow.ErrNotPrepared)
	case again && !same:
		return dataflow.ExecutionResult{}, fmt.Errorf("job is %s, and %s was submitted", k.kept[k.accepted], job)
	case !again && k.full:
		k.full = false
		return dataflow.ExecutionResult{}, errFull
	case !again:
		k.kept = append(k.kept, job)
	}
	k.accepted++
	return dataflow.ExecutionResult{JobID: strconv.Itoa(k.accepted - 1)}, nil
}

var errFull = errors.New("too many jobs")

var copyDay = dataflow.Job("copy-day", func(p *dataflow.Plan, day string) error {
	dataflow.WriteText(dataflow.ReadText(p, "/in/"+day), "/out/"+day, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

// run runs a driver that executes a job for each day, once more if it is refused. It returns what the driver is told of
// each: the job's id, or an error.
func (k *keeping) run(t *testing.T, content map[string]string, days []string) []string {
	t.Helper()
	env := dataflow.NewEnv(dataflow.EnvOptions{Executor: k, FileSystem: dataflowtest.NewFiles(content), Accepted: len(k.kept)})
	k.accepted = 0
	var told []string
	for _, day := range days {
		result, err := env.Execute(t.Context(), copyDay, day)
		if errors.Is(err, errFull) {
			told = append(told, err.Error())
			result, err = env.Execute(t.Context(), copyDay, day)
		}
		if err != nil {
			told = append(told, err.Error())
			continue
		}
		told = append(told, result.JobID)
	}
	return told
}

// TestADriverThatRunsAgainIsToldTheSame would catch a driver that fails when its ApplicationMaster was replaced, because a
// job has written its output, or because the input of a job is gone; a job without input that gets the result of the next
// one; and a job that runs without the input that it has.
func TestADriverThatRunsAgainIsToldTheSame(t *testing.T) {
	t.Parallel()
	missing := "plan job copy-day: input /in/tue: scan mem:///in/tue: file does not exist: name an existing file or directory, or a pattern that matches"
	mon, wed := `"mon" with 1 splits`, `"wed" with 1 splits`
	for name, c := range map[string]struct {
		full     bool     // the first run's first job is refused
		days     []string // of the first run
		more     []string // days that the second run executes after these
		appeared bool     // the missing input
		first    []string // what the first run is told
		second   []string // what the second run is told
		kept     []string
	}{
		"a job has no input": {
			days: []string{"mon", "tue", "wed"}, first: []string{"0", missing, "1"}, second: []string{"0", missing, "1"}, kept: []string{mon, wed},
		},
		"its last job is new": {
			days: []string{"mon", "tue"}, more: []string{"wed", "wed"}, first: []string{"0", missing},
			second: []string{"0", missing, "1", "2"}, kept: []string{mon, wed, wed},
		},
		"a job was refused, and repeated": {
			full: true, days: []string{"mon", "wed"}, first: []string{"too many jobs", "0", "1"}, second: []string{"0", "1"}, kept: []string{mon, wed},
		},
		"the missing input has come": {
			days: []string{"mon", "tue", "wed"}, appeared: true, first: []string{"0", missing, "1"},
			second: []string{"0", "job is " + wed + `, and "tue" with 1 splits was submitted`, "1"}, kept: []string{mon, wed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeping{full: c.full}
			first := k.run(t, map[string]string{"/in/mon": "to be\n", "/in/wed": "or not\n"}, c.days)
			// The second run finds outputs, and not the inputs of the first.
			content := map[string]string{"/out/mon/part-00000": "to be\n"}
			if c.appeared {
				content["/in/tue"] = "that\n"
			}
			if c.more != nil {
				content["/in/wed"] = "or not\n"
			}
			second := k.run(t, content, slices.Concat(c.days, c.more))
			if diff := cmp.Diff([][]string{c.first, c.second, c.kept}, [][]string{first, second, k.kept}); diff != "" {
				t.Errorf("told first, told then, kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecuteReportsMistakesOfTheDriver(t *testing.T) {
	t.Parallel()
	lost := errors.New("application was killed")
	for name, c := range map[string]struct {
		config map[string]string
		job    dataflow.Executable
		args   any
		err    error
		want   string
	}{
		"arguments of another type":     {nil, collectLines, 7, nil, "job collect-lines takes arguments of type string, got int"},
		"parallelism that is no number": {map[string]string{"parallelism.default": "many"}, collectLines, "/in", nil, `option parallelism.default is "many"`},
		"parallelism of zero":           {map[string]string{"parallelism.default": "0"}, collectLines, "/in", nil, `option parallelism.default is "0"`},
		"a cluster that fails":          {nil, collectLines, "/in", lost, "application was killed"},
		"arguments that are not JSON":   {nil, unencodable, make(chan int), nil, "encode arguments of job unencodable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := environment(&cluster{err: c.err}, c.config).Execute(t.Context(), c.job, c.args)
			if err == nil || !strings.Contains(err.Error(), c.want) || result != nil {
				t.Errorf("result %v, error %v, want one that says %q", result, err, c.want)
			}
		})
	}
}

var unencodable = dataflow.Job("unencodable", func(*dataflow.Plan, chan int) error { return nil })

func records(elements ...string) []byte {
	var all []byte
	for _, e := range elements {
		all = append(binary.AppendUvarint(all, uint64(len(e))), e...)
	}
	return all
}

func TestCollectedGivesTheLastEpochOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		collect func(x dataflow.Execution) error
		want    []string
	}{
		"nothing": {func(dataflow.Execution) error { return nil }, nil},
		"batches of one epoch": {func(x dataflow.Execution) error {
			return errors.Join(x.Collected("lines", 1, records("a", "")), x.Collected("lines", 1, records("b")))
		}, []string{"a", "", "b"}},
		"a restart": {func(x dataflow.Execution) error {
			return errors.Join(x.Collected("lines", 1, records("void")), x.Collected("lines", 2, records("b")))
		}, []string{"b"}},
		"a restart that gives nothing": {func(x dataflow.Execution) error {
			return errors.Join(x.Collected("lines", 1, records("void")), x.Collected("lines", 2, nil))
		}, nil},
		"a batch whose memory is used again": {func(x dataflow.Execution) error {
			batch := records("keep")
			defer clear(batch)
			return x.Collected("lines", 1, batch)
		}, []string{"keep"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := environment(&cluster{collect: c.collect}, nil).Execute(t.Context(), collectLines, "/in")
			if err != nil {
				t.Fatal(err)
			}
			elements, err := dataflow.Collected(result, lineCollector)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range elements {
				got = append(got, string(e))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("elements (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADetachedJobHasNoResult(t *testing.T) {
	t.Parallel()
	c := &cluster{result: dataflow.ExecutionResult{JobID: "7", Detached: true}}
	result, err := environment(c, nil).Execute(t.Context(), collectLines, "/in")
	if err != nil || !result.Detached || result.JobID != "7" {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if _, err := dataflow.Collected(result, lineCollector); !errors.Is(err, dataflow.ErrDetached) {
		t.Errorf("error %v, want ErrDetached", err)
	}
}

// FuzzCollected feeds batches as another process sends them. No batch may cause a
// panic, and accepted records must be complete.
func FuzzCollected(f *testing.F) {
	f.Add(records("a", "bc"), []byte{})
	f.Add([]byte{0x80}, []byte{0x05, 'x'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'}, []byte{0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := &cluster{collect: func(x dataflow.Execution) error {
			return errors.Join(x.Collected("lines", 1, first), x.Collected("numbers", 1, second))
		}}
		result, err := environment(c, nil).Execute(t.Context(), collectLines, "/in")
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("error %v is not ErrCorrupt", err)
			}
			return
		}
		elements, err := dataflow.Collected(result, lineCollector)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, e := range elements {
			total += len(e)
		}
		if total+len(elements) > len(first) {
			t.Errorf("%d elements of %d bytes from %d", len(elements), total, len(first))
		}
		if _, err := dataflow.Collected(result, numberCollector); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error %v is not ErrCorrupt", err)
		}
	})
}

var numberCollector = dataflow.NewCollector[dataflow.KV[string, int64]]("numbers")
