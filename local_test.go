package bobbin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/control"
)

// exitsIn makes this test binary a program that calls os.Exit(0) in its task, in its driver, or nowhere.
const exitsIn = "BOBBIN_TEST_EXITS_IN"

// exiting is that program. Its argument is the text to read.
func exiting(where string) Driver {
	return func(ctx context.Context, env *dataflow.Env) error {
		if len(env.Args()) > 1 {
			return printCached(ctx, env)
		}
		if _, err := env.Execute(ctx, exits, env.Args()[0]); err != nil {
			return err
		}
		if where == "driver" {
			os.Exit(0)
		}
		return nil
	}
}

var (
	lengths = dataflow.NewCollector[int]("lengths")

	exits = dataflow.Job("exits", func(p *dataflow.Plan, text string) error {
		dataflow.Collect(dataflow.Map(dataflow.ReadText(p, text), func(line []byte) int {
			if os.Getenv(exitsIn) == "task" {
				os.Exit(0)
			}
			return len(line)
		}), lengths)
		return nil
	})
)

// cachedArgs are a text, and the name of a cached file.
type cachedArgs struct{ Text, File string }

var (
	contents = dataflow.NewCollector[string]("contents")

	// readsCached has for each line the path, the mode and the content of a cached file.
	readsCached = dataflow.Job("reads cached", func(p *dataflow.Plan, a cachedArgs) error {
		dataflow.Collect(dataflow.FlatMapWith(dataflow.ReadText(p, a.Text), func(s dataflow.Subtask) func([]byte, func(string)) {
			path, err := s.CachedFile(a.File)
			if err != nil {
				panic(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				panic(err)
			}
			return func(_ []byte, emit func(string)) { emit(path + ": " + string(content)) }
		}), contents)
		return nil
	})
)

func printCached(ctx context.Context, env *dataflow.Env) error {
	result, err := env.Execute(ctx, readsCached, cachedArgs{env.Args()[0], env.Args()[1]})
	if err != nil {
		return err
	}
	found, err := dataflow.Collected(result, contents)
	fmt.Println(strings.Join(found, "\n"))
	return err
}

// TestALocalRunReadsCachedFilesInPlace would catch a program that finds no cached file when it is started by
// hand, a copy of a file that is here, and an error that does not say which file is wrong.
func TestALocalRunReadsCachedFilesInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, cities := filepath.Join(dir, "text"), filepath.Join(dir, "cities;1")
	if err := errors.Join(os.WriteFile(text, []byte("to be\n"), 0o600), os.WriteFile(cities, []byte("Rome"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ option, name, want string }{
		{"name:cities,path:'" + cities + "'", "cities", cities + ": Rome"},
		{"name:cities,path:'file://" + cities + "';name:text,path:" + text, "text", text + ": to be"},
		{"name:cities,path:'cities;1'", "cities", cities + ": Rome"},
		{"name:b,path:text;name:a,path:text", "cities", `"cities": it has a, b; set pipeline.cached-files`},
		{"", "cities", `"cities": it has none; set pipeline.cached-files`},
		{"name:cities,path:" + dir, "cities", `"cities" (pipeline.cached-files) is file://` + dir + ": it is a directory: pack it"},
		{"name:cities,path:/none", "cities", `"cities" (pipeline.cached-files) is file:///none: there is no such file`},
		{"cities:/none", "cities", `"cities" is not name, path or executable`},
	} {
		program := byHand(t, "file://"+text)
		program.Dir = dir
		program.Args = append(program.Args, c.name)
		options, err := json.Marshal(map[string]string{"pipeline.cached-files": c.option, "restart-strategy.type": "none"})
		if err != nil {
			t.Fatal(err)
		}
		program.Env = append(program.Env, control.OptionsVariable+"="+string(options))
		if out, _ := program.CombinedOutput(); !strings.Contains(string(out), c.want) {
			t.Errorf("%s: output %q, want %q", c.option, out, c.want)
		}
	}
}

// TestALocalRunSaysWhatItIsAmid would catch a run that counts as finished although a task ended it by
// os.Exit(0), and a program that counts as broken off although it exits after the end of its job.
func TestALocalRunSaysWhatItIsAmid(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("to be\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]control.Amid{
		"task": control.AmidJob, "driver": control.AmidDriver, "nowhere": control.AmidNothing,
	} {
		parent, err := control.Listen()
		if err != nil {
			t.Fatal(err)
		}
		program := exec.CommandContext(t.Context(), os.Args[0], "file://"+text)
		program.Env = []string{"HOME=" + t.TempDir(), "HADOOP_USER_NAME=alice", exitsIn + "=" + where, parent.Environment()}
		program.ExtraFiles = []*os.File{parent.Child}
		out, err := program.CombinedOutput()
		if got := parent.Amid(); err != nil || got != want {
			t.Errorf("os.Exit in %s: it ends amid %q with %v, want %q\n%s", where, got, err, want, out)
		}
		for _, end := range []interface{ Close() error }{parent.Child, parent} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// byHand is the program that exits nowhere, with an input, as a user starts it.
func byHand(t *testing.T, input string) *exec.Cmd {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0], input)
	program.Env = []string{"HOME=" + t.TempDir(), "HADOOP_USER_NAME=alice", exitsIn + "=nowhere"}
	return program
}

// TestAnInputWithoutFilesIsWarnedOf would catch a program that runs on the wrong directory and ends at once,
// with success and without a warning.
func TestAnInputWithoutFilesIsWarnedOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"_SUCCESS": "", "below/deep/text": "to be\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for input, warned := range map[string]bool{dir: true, dir + "/below": true, dir + "/below/deep": false} {
		out, err := byHand(t, "file://"+input).CombinedOutput()
		if got := strings.HasPrefix(string(out), "warning: job exits reads nothing in "); err != nil || got != warned {
			t.Errorf("%s: %v, want a warning: %t\n%s", input, err, warned, out)
		}
	}
}
