// Program mutants plants bugs in Bobbin, one at a time, and runs the simulation until it finds each of
// them. A bug that it does not find shows a hole in its faults or rules.
//
//	go run ./integration/sim/mutants [-runs N] [NAME…]
//
// It changes no file: a mutant is an overlay of the build.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	runs := flag.Int("runs", 2000, "schedules in which a mutant must be found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	survived, err := hunt(ctx, *runs, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if survived > 0 {
		fmt.Printf("%d mutants survive\n", survived)
		os.Exit(1)
	}
}

// hunt runs the mutants of these names, or all, and returns how many survive.
func hunt(ctx context.Context, runs int, names []string) (survived int, err error) {
	var wanted []mutant
	for _, m := range mutants {
		if len(names) == 0 || slices.Contains(names, m.name) {
			wanted = append(wanted, m)
		}
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var lost atomic.Int64
	for _, m := range wanted {
		group.Go(func() error {
			start := time.Now()
			found, err := m.run(running, runs)
			if err != nil {
				return fmt.Errorf("run mutant %s: %w", m.name, err)
			}
			if found == "" {
				lost.Add(1)
				found = fmt.Sprintf("SURVIVES %d schedules", runs)
			}
			fmt.Printf("%-40s %5.1f s  %s\n", m.name, time.Since(start).Seconds(), found)
			return nil
		})
	}
	err = group.Wait()
	return int(lost.Load()), err
}

// run builds the simulation's test with the mutant and runs it. It returns how the mutant was found;
// "": it was not.
func (m mutant) run(ctx context.Context, runs int) (found string, err error) {
	dir, err := os.MkdirTemp("", "bobbin-mutant-")
	if err != nil {
		return "", fmt.Errorf("make folder for mutant: %w", err)
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "sim.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./integration/sim")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	for _, test := range []string{"TestNamedSchedules", "TestSchedules"} {
		if found, err = hunted(ctx, binary, test, runs); found != "" || err != nil {
			break
		}
	}
	return found, err
}

// hunted runs one test of a binary. It returns the rule that was broken; "": none was.
func hunted(ctx context.Context, binary, name string, runs int) (found string, err error) {
	test := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$", "-runs", strconv.Itoa(runs), "-first")
	test.Dir = "integration/sim"
	out, err := test.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &failed) || ctx.Err() != nil:
		return "", err
	}
	if line := finding.Find(out); line != nil {
		return string(line), nil
	}
	if missed.Match(out) {
		return "", nil
	}
	return "", fmt.Errorf("the test fails without a finding: %w\n%s", err, bytes.TrimSpace(out))
}

// finding is the line with which the test tells of a broken rule.
var finding = regexp.MustCompile(`seed \d+ breaks a rule.*`)

// missed is the line with which the test tells that a named schedule does not meet its failure any more. That is no finding.
var missed = regexp.MustCompile(`the run (has|excuses) \d+`)

// overlay writes the changed file and the description for the build.
func (m mutant) overlay(dir string) (string, error) {
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", m.file, err)
	}
	changed, err := m.plant()
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "mutant.go")
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{file: to}})
	if err != nil {
		return "", fmt.Errorf("describe overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, errors.Join(os.WriteFile(to, changed, 0o600), os.WriteFile(path, content, 0o600))
}

// plant returns the content of the file with the bug. Run it in the module's folder.
func (m mutant) plant() ([]byte, error) {
	content, err := os.ReadFile(m.file)
	if err != nil {
		return nil, fmt.Errorf("read the file of mutant %s: %w", m.name, err)
	}
	if n := bytes.Count(content, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("mutant %s: its place is in %s %d times, want once; adapt it to the code: %w", m.name, m.file, n, errPlace)
	}
	return bytes.Replace(content, []byte(m.old), []byte(m.new), 1), nil
}

// errPlace says that the code of a mutant's place has changed.
var errPlace = errors.New("mutant has no place")
