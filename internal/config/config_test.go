package config

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func layer(source string, pairs ...string) Layer {
	l := Layer{Source: source, Values: make(map[string]string)}
	for i := 0; i < len(pairs); i += 2 {
		l.Values[pairs[i]] = pairs[i+1]
	}
	return l
}

func mustNew(t *testing.T, layers ...Layer) Config {
	t.Helper()
	c, err := New(layers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheLastLayerCounts(t *testing.T) {
	t.Parallel()
	file, err := parseFile("conf/bobbin.yaml", []byte("taskmanager:\n  numberOfTaskSlots: 2\n  memory.process.size: 2g\nparallelism.default: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := mustNew(t, file, layer("-D", "parallelism.default", "4"), layer("-tm", "taskmanager.memory.process.size", "1536m"))
	for _, test := range []struct {
		key    Key
		got    any
		want   any
		source string
	}{
		{HeartbeatInterval, c.Duration(HeartbeatInterval), 10 * time.Second, "default"},
		{TaskSlots, c.Int(TaskSlots), 2, "conf/bobbin.yaml:2"},
		{ParallelismDefault, c.Int(ParallelismDefault), 4, "-D"},
		{TaskManagerProcessSize, c.Memory(TaskManagerProcessSize), 1536 * Mebibyte, "-tm"},
	} {
		if test.got != test.want || c.Source(test.key) != test.source {
			t.Errorf("%s: got %v from %s, want %v from %s", test.key.Name(), test.got, c.Source(test.key), test.want, test.source)
		}
	}
	if c.IsSet(HeartbeatInterval) || !c.IsSet(TaskSlots) {
		t.Error("IsSet does not tell defaults from what was given")
	}
	c2, err := c.With(layer("-p", "parallelism.default", "8"))
	if err != nil || c2.Int(ParallelismDefault) != 8 || c2.Int(TaskSlots) != 2 || c.Int(ParallelismDefault) != 4 {
		t.Errorf("With: %v, %d, %d; the first now %d", err, c2.Int(ParallelismDefault), c2.Int(TaskSlots), c.Int(ParallelismDefault))
	}
}

// TestAnOptionIsToldAsItWasSet would catch "2m0s" in a message to a user who has written "120 s",
// and the value of the file where the flag's counts.
func TestAnOptionIsToldAsItWasSet(t *testing.T) {
	t.Parallel()
	file, err := parseFile("conf/bobbin.yaml", []byte("client:\n  timeout: 2 min # for the slow cluster\n"))
	if err != nil {
		t.Fatal(err)
	}
	for want, layers := range map[string][]Layer{
		"client.timeout: 30 s":  nil, // the default
		"client.timeout: 2 min": {file},
		"client.timeout: 120s":  {file, layer("-D", "client.timeout", " 120s ")},
		"client.timeout: 1500":  {layer("-D", "client.timeout", "1500")},
	} {
		if got := mustNew(t, layers...).Told(ClientTimeout); got != want {
			t.Errorf("told as %q, want %q", got, want)
		}
	}
}

// TestSetTravels would catch an option that has another value in another process.
func TestSetTravels(t *testing.T) {
	t.Parallel()
	c := mustNew(t, layer("-D", "yarn.heartbeat.interval", "7", "containerized.master.env.A.B", "x=y,z", "yarn.tags", "a,b"))
	again := mustNew(t, Layer{Source: "client", Values: c.Set()})
	if diff := cmp.Diff(c.Set(), again.Set()); diff != "" {
		t.Errorf("options differ (-first +second):\n%s", diff)
	}
	if got := again.Duration(YarnHeartbeatInterval); got != 7*time.Second {
		t.Errorf("a bare number of %s is %s", YarnHeartbeatInterval, got)
	}
	if diff := cmp.Diff(map[string]string{"A.B": "x=y,z"}, again.Under(ContainerMasterEnv)); diff != "" {
		t.Errorf("variables differ (-want +got):\n%s", diff)
	}
}

// Hadoop's properties may be secret and travel by another way.
func TestPrefixesCanBeLeftOut(t *testing.T) {
	t.Parallel()
	c := mustNew(t, layer("-D", "flink.hadoop.a.secret", "s", "flink.yarn.b", "y", "yarn.tags", "t"))
	if diff := cmp.Diff(map[string]string{"yarn.tags": "t"}, c.Without(HadoopOptions, YarnOptions).Set()); diff != "" {
		t.Errorf("options that are left (-want +got):\n%s", diff)
	}
	if len(c.Set()) != 3 || len(Config{}.Without(HadoopOptions).Set()) != 0 {
		t.Error("the Config itself was changed")
	}
}

func TestFaultsAreAllTold(t *testing.T) {
	t.Parallel()
	_, err := New(
		layer("conf/bobbin.yaml", "taskmanager.numberOfTaskslots", "2", "heartbeat.timeout", "soon"),
		layer("-D", "restart-strategy.type", "often", "parallelism.default", "0"))
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("got error %v, want ErrInvalid", err)
	}
	for _, part := range []string{
		"conf/bobbin.yaml: unknown option taskmanager.numberOfTaskslots, did you mean taskmanager.numberOfTaskSlots?",
		`conf/bobbin.yaml: option heartbeat.timeout: "soon"`,
		`-D: option restart-strategy.type: "often" is none of none, fixed-delay`,
		"-D: option parallelism.default: 0 is out of range, want at least 1",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q:\n%v", part, err)
		}
	}
}

func TestNearestKnowsHowPeopleMistype(t *testing.T) {
	t.Parallel()
	for mistyped, want := range map[string]string{
		"yarn.aplication.queue":          "yarn.application.queue",
		"slot.idle-timeout":              "slot.idle.timeout",
		"heartbeat.intreval":             "heartbeat.interval",
		"taskmanager.memory.proces.size": "taskmanager.memory.process.size",
		"containerized.master.env":       "containerized.master.env.*",
	} {
		if got := Nearest(mistyped, Names()); got != want {
			t.Errorf("%s: got %s, want %s", mistyped, got, want)
		}
	}
	if got := Nearest("stat", []string{"stop", "status"}); got != "status" {
		t.Errorf("Nearest of a word that is broken off: %q", got)
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("without candidates: got %q", got)
	}
	if got := Nearest("a.b", Names()); got != "" {
		t.Errorf("an offer that nobody meant: %s", got)
	}
}

// TestAnUnknownNameLeadsToOneThatThereIs would catch a message without help for a name that
// resembles no whole name: many users give the part that they remember.
func TestAnUnknownNameLeadsToOneThatThereIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"hartbeat.timeout": "did you mean heartbeat.timeout?",
		"queue":            "the nearest is yarn.application.queue",
		"Slots":            "the nearest is taskmanager.numberOfTaskSlots",
		"foo":              "docs/OPTIONS.md lists all options", // no option shares more than two letters with it
		"a.longer.word":    "docs/OPTIONS.md lists all options",
		"":                 "docs/OPTIONS.md lists all options",
	} {
		_, err := New(layer("-D", name, "bar"))
		if fault, is := errors.AsType[*Fault](err); !is || fault.Text() != "-D: unknown option "+name || !strings.HasSuffix(fault.Remedy, want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestAPrefixAloneIsNoOption(t *testing.T) {
	t.Parallel()
	if _, err := New(layer("-D", string(ContainerMasterEnv), "x")); !errors.Is(err, ErrInvalid) {
		t.Errorf("got error %v, want ErrInvalid", err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, part string }{
		"no YAML":            {"a: [", "conf.yaml:1: not valid YAML: did not find expected node content"},
		"a list":             {"yarn.tags:\n  - a\n", "conf.yaml:2"},
		"a scalar":           {"just text\n", "conf.yaml:1"},
		"an option twice":    {"slot:\n  idle.timeout: 1 s\nslot.idle.timeout: 2 s\n", "conf.yaml:3: option slot.idle.timeout is given twice, first in line 2"},
		"a key of two parts": {"? [a, b]\n: c\n", "conf.yaml:1"},
	} {
		if _, err := parseFile("conf.yaml", []byte(test.text)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), FileName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got error %v", err)
	}
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte("# nothing yet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ReadFile(path); err != nil || len(l.Values) != 0 {
		t.Errorf("file of comments: got %v, %v", l, err)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	name, value, err := ParseDefinition("a.b=c=d,e")
	if err != nil || name != "a.b" || value != "c=d,e" {
		t.Errorf("got %q, %q, %v", name, value, err)
	}
	for _, text := range []string{"a", "=b", ""} {
		if _, _, err := ParseDefinition(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}

// TestEveryKeyHasItsRow would catch an option that a program reads and no user can set, and a
// default that does not parse.
func TestEveryKeyHasItsRow(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	inTable := make(map[string]bool)
	for _, d := range table {
		name := strings.TrimSuffix(d.Key.Name(), "*")
		if inTable[name] {
			t.Errorf("%s has two rows", name)
		}
		inTable[name] = true
		if _, prefix := d.Key.(PrefixKey); prefix != strings.HasSuffix(name, ".") {
			t.Errorf("%s: a prefix ends with a dot, and nothing else does", name)
		}
		if value, err := parse(name, d.Default); err != nil && d.Default != "" {
			t.Errorf("default of %s: %v", name, err)
		} else if s, text := value.(string); text && s != d.Default {
			t.Errorf("default of %s is not one of its choices", name)
		}
		if o := d.Otherwise; o.Key != "" {
			other := mustFind(o.Key)
			if value, err := parse(name, o.Default); err != nil || !d.inRange(value) || other.Otherwise.Key != "" || !slices.Contains(other.Choices, o.Value) {
				t.Errorf("other default of %s: %v, with %s: %s", name, err, o.Key, o.Value)
			}
		}
		if r, number := d.Range, d.Key.kind(); r == (Range{}) && (number == "integer" || number == "number") {
			t.Errorf("%s has no range: is it allowed to be negative?", name)
		} else if r.Least != "" && r.Above != "" || r.Most != "" && r.Below != "" {
			t.Errorf("%s has two ends on one side: %+v", name, r)
		}
		if d.Doc == "" || d.Origin == "" {
			t.Errorf("%s is not described", name)
		}
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || !strings.HasSuffix(kind.Name, "Key") {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if !inTable[name] {
			t.Errorf("%s has no row", name)
		}
		return true
	})
	if found != len(table) {
		t.Errorf("%d keys, %d rows", found, len(table))
	}
}

func TestReferenceListsEveryOption(t *testing.T) {
	t.Parallel()
	page := Reference()
	for _, d := range table {
		if !strings.Contains(page, "| `"+d.Key.Name()+"` |") {
			t.Errorf("%s is missing", d.Key.Name())
		}
	}
	for _, part := range []string{
		"A bare number counts s.", "Range: more than 0 and less than 1.", "Less than `heartbeat.timeout`.", "More than `heartbeat.interval`.",
		"At least `yarn.heartbeat.container-request-interval`.",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("%q is missing", part)
		}
	}
}

// TestTheReferencePageIsCurrent would catch an option that changed without its
// page.
func TestTheReferencePageIsCurrent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "OPTIONS.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Reference(), string(page)); diff != "" {
		t.Errorf("docs/OPTIONS.md is out of date: run make generate (-want +got):\n%s", diff)
	}
}

// TestOptionsOfALaterRelease would catch a program that does not start because its client has a
// newer option, or that runs without an option which it has.
func TestOptionsOfALaterRelease(t *testing.T) {
	want := map[string]string{"parallelism.default": "3", "flink.hadoop.dfs.replication": "1"}
	got := Known(map[string]string{"parallelism.default": "3", "flink.hadoop.dfs.replication": "1", "flink.hadoop.": "", "of.tomorrow": "x"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}
