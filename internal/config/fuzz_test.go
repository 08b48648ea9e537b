package config

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzValues parses a text as a value of every option. It would catch a size, a duration or a port
// that wraps around, a value that changes in the next process, and an error that does not name the
// option.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"512m", "9223372036854775807", "1 gb", "10 s", "106751 d", "50100-50200, 0", "0.4", "true", "-1", "٣", "1e3", "18446744073709551615k"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range Names() {
			if strings.HasSuffix(name, "*") {
				continue
			}
			c, err := New(Layer{Source: "here", Values: map[string]string{name: text}})
			if err != nil {
				if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: error %v", name, err)
				}
				continue
			}
			checkValue(t, name, text, c.set[name].value)
			again, err := New(Layer{Source: "here", Values: c.Set()})
			if err != nil {
				t.Errorf("%s: %q cannot be passed on: %v", name, text, err)
				continue
			}
			if diff := cmp.Diff(c.set[name].value, again.set[name].value); diff != "" {
				t.Errorf("%s: %q is another in the next process:\n%s", name, text, diff)
			}
		}
	})
}

func checkValue(t *testing.T, name, text string, value any) {
	t.Helper()
	switch value := value.(type) {
	case Bytes:
		mb := Bytes(value.Megabytes())
		if value < 0 || mb < value/Mebibyte || mb > value/Mebibyte+1 {
			t.Errorf("%s: %q is %d bytes and %d MB", name, text, value, mb)
		}
		if again, err := parseMemory(value.String(), Byte); err != nil || again != value {
			t.Errorf("%s: %q is written %s, which is %d, %v", name, text, value, again, err)
		}
	case time.Duration:
		if again, err := parseDuration(FormatDuration(value), time.Millisecond); err != nil || again != value || value < 0 {
			t.Errorf("%s: %q is %s, which is written as %s, %v", name, text, value, again, err)
		}
	case Ports:
		for _, r := range value {
			if r.First < 0 || r.First > r.Last || r.Last > 65535 {
				t.Errorf("%s: %q has ports %d to %d", name, text, r.First, r.Last)
			}
		}
	}
}

// FuzzParseFile parses a file of options. It would catch a file that takes much more memory than
// its size, and a fault without file and line.
func FuzzParseFile(f *testing.F) {
	for _, text := range []string{
		"parallelism.default: 4\ntaskmanager:\n  memory.process.size: 1g\n", "a: &x [1]\nb: *x\n", "a: 1\na: 2\n", "? [a]\n: b\n", "a: !!binary QQ==\n",
		"{a: {a: {a: {b: 1, c: 2}}}}", "%YAML 1.1\n---\na: |\n  b\n", "\xff\xfea\x00",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		layer, err := parseFile("conf/bobbin.yaml", data)
		if err != nil {
			checkLines(t, err, "conf/bobbin.yaml", data)
			return
		}
		checkLayer(t, layer, nil, data)
	})
}

// FuzzFlinkOptions parses one of Flink's files, in either form. It would catch an option that is
// neither used nor reported, and the bugs of FuzzParseFile.
func FuzzFlinkOptions(f *testing.F) {
	for _, text := range []string{
		"taskmanager:\n  numberOfTaskSlots: 4\nyarn.tags: [a, b]\nenv.java.opts.all: -X\n", "a: &x [1]\nb: *x\n", "yarn.tags: [[a]]\n", "restart-strategy: off\nrestart-strategy.type: none\n",
		"parallelism.default: 4 # and more\n# no: option\nyarn.tags:\n", "slot.idle.timeout: 1 s: 2 s\n", "- a\n", "a:\n- b\n -", "\xef\xbb\xbfa: 1\r\n", "? {a: b}\n: c\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for path, parse := range map[string]flinkParser{flinkFile: parseFlinkYAML, flinkLegacyFile: parseFlinkLines} {
			visited := 0
			layer, others, err := parseFlink(path, data, func(path string, data []byte, visit func(name, value string, line int)) error {
				return parse(path, data, func(name, value string, line int) {
					visited++
					visit(name, value, line)
				})
			})
			if err != nil {
				checkLines(t, err, path, data)
				continue
			}
			if len(layer.Values)+len(others) > visited || visited > 0 && len(layer.Values)+len(others) == 0 {
				t.Errorf("%s: %d options are taken, %d are not, of %d", path, len(layer.Values), len(others), visited)
			}
			checkLayer(t, layer, others, data)
		}
	})
}

// checkLines checks that each fault of a file names a line of the file.
func checkLines(t *testing.T, err error, path string, data []byte) {
	t.Helper()
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v is not ErrInvalid", err)
	}
	for fault := range strings.SplitSeq(err.Error(), "\n") {
		rest, named := strings.CutPrefix(fault, path+":")
		number, _, _ := strings.Cut(rest, ":")
		if line, err := strconv.Atoi(number); !named || err != nil || line < 1 || line > len(data)+1 {
			t.Errorf("%q names no line of %q", fault, data)
		}
	}
}

// checkLayer checks the result of reading a file.
func checkLayer(t *testing.T, layer Layer, others []string, data []byte) {
	t.Helper()
	total := 0
	for name := range layer.Values {
		total += len(name)
		if line := layer.Lines[name]; line < 1 || line > len(data)+1 { // a missing value is on the line after the last
			t.Errorf("%q is in line %d of %q", name, line, data)
		}
	}
	for _, name := range others {
		total += len(name)
		if _, known := definitionOf(name); known {
			t.Errorf("%q counts for nothing", name)
		}
	}
	if total > maxName*len(data) {
		t.Errorf("%d bytes of names come from %d", total, len(data))
	}
	if _, err := New(layer); err != nil && !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v is not ErrInvalid", err)
	}
}

// FuzzParseDefinition parses the text after -D. It would catch a value that loses an "=" or a
// comma.
func FuzzParseDefinition(f *testing.F) {
	f.Add("containerized.master.env.A=b=c,d")
	f.Add(" a = ")
	f.Add("=x")
	f.Fuzz(func(t *testing.T, text string) {
		name, value, err := ParseDefinition(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v is not ErrInvalid", err)
			}
			return
		}
		before, after, _ := strings.Cut(text, "=")
		if name == "" || name != strings.TrimSpace(before) || value != after {
			t.Errorf("%q is %q and %q", text, name, value)
		}
	})
}
