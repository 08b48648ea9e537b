package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLinesAreOfTheirKeys would catch lines of another size, a text with too few or too many keys, and one that is not the same each
// time.
func TestLinesAreOfTheirKeys(t *testing.T) {
	t.Parallel()
	const count, some = 5000, 100
	for name, c := range map[string]struct {
		lines
		keys int
	}{
		"each":   {lines{count: count, key: each}, count},
		"any of": {lines{count: count, key: anyOf(some)}, some}, // 50 lines of a key: none lacks
		"all of": {lines{count: count, key: allOf(count * 3 / 4), bare: true}, count * 3 / 4},
	} {
		var text, again bytes.Buffer
		if err := errors.Join(c.writeTo(&text), c.writeTo(&again)); err != nil {
			t.Fatal(err)
		}
		if int64(text.Len()) != c.size() || !bytes.Equal(text.Bytes(), again.Bytes()) {
			t.Errorf("%s: %d bytes, then %d, want %d", name, text.Len(), again.Len(), c.size())
		}
		keys := map[string]bool{}
		for line := range bytes.Lines(text.Bytes()) {
			if int64(len(line)) != c.size()/count {
				t.Fatalf("%s: %q has %d bytes", name, line, len(line))
			}
			keys[string(line[:keySize])] = true
		}
		if len(keys) != c.keys {
			t.Errorf("%s: %d keys, want %d", name, len(keys), c.keys)
		}
	}
}

// TestTheCharactersOfKeysAreInOrder would catch an alphabet in which Java or SQL could sort keys otherwise.
func TestTheCharactersOfKeysAreInOrder(t *testing.T) {
	t.Parallel()
	if all := []byte(keyCharacters); len(all) != 64 || !slices.IsSorted(all) || len(slices.Compact(all)) != 64 {
		t.Errorf("%q has %d characters, or is not sorted", keyCharacters, len(keyCharacters))
	}
}

// TestOutputsAreChecked would catch a system that is fast because it loses or changes lines, or does not sort them.
func TestOutputsAreChecked(t *testing.T) {
	t.Parallel()
	of := func(text string, sorted bool) digest {
		d, _, err := digestOf(strings.NewReader(text), sorted)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		return d
	}
	const sortedText = "aaaaaaaaaa 2\naaaaaaaaaa 1\nb\n"
	first := of(sortedText, true)
	if again := of("b\naaaaaaaaaa 1\naaaaaaaaaa 2\n", false); again != first || first.lines != 3 {
		t.Errorf("%+v and %+v of the same lines", first, again)
	}
	if _, _, err := digestOf(strings.NewReader("b\na\n"), true); !errors.Is(err, errOrder) {
		t.Errorf("of lines in a wrong order: %v", err)
	}
	c := contest{results: 3}
	if err := errors.Join(c.check(first, nil), c.check(first, nil)); err != nil {
		t.Error(err)
	}
	for _, d := range []digest{of("b\n", false), of("b\nb\naaaaaaaaaa 1\n", false)} {
		if err := c.check(d, nil); !errors.Is(err, errOutputs) {
			t.Errorf("%+v after %+v: %v", d, first, err)
		}
	}
}

// TestSortedFilesMustNotOverlap would catch a sort of parts only, and a sort that is refused for the names of its files.
func TestSortedFilesMustNotOverlap(t *testing.T) {
	t.Parallel()
	if err := disjoint([]keyRange{{"m", "z"}, {"a", "m"}, {"z", "z"}}); err != nil {
		t.Error(err)
	}
	if err := disjoint([]keyRange{{"m", "z"}, {"a", "n"}}); !errors.Is(err, errOrder) {
		t.Errorf("of files that overlap: %v", err)
	}
}

// TestContestsAreJudgedByTheirGoals would catch a ratio to a Flink that is not the best one, a limit that is taken the wrong way
// round, and a missed goal without a mark.
func TestContestsAreJudgedByTheirGoals(t *testing.T) {
	t.Parallel()
	made := func(name string, cpu time.Duration, smallest int) contestant {
		return contestant{name: name, smallest: smallest, runs: []heavy{{took: cpu / 2, cpu: cpu, peak: resident{PSS: 1 << 20}, written: 2 << 20}}}
	}
	text := []lines{{count: 1e6, key: each}}
	base := contest{label: "base", inputs: text, contestants: []contestant{
		made("Bobbin", 10*time.Second, 96), made("Flink, DataSet", 100*time.Second, 640), made("Flink, SQL", 40*time.Second, 320),
	}}
	missed := contest{label: "missed", inputs: text, contestants: []contestant{made("Bobbin", 20*time.Second, 0), made("Flink, DataSet", 40*time.Second, 0)}}
	grown := contest{label: "grown", inputs: []lines{{count: 2e6, key: each}}, contestants: []contestant{made("Bobbin", 22*time.Second, 0)}}
	var got table
	base.rows(&got, nil)
	missed.rows(&got, nil)
	grown.rows(&got, &base)
	var cells []string
	for _, row := range got.rows {
		cells = append(cells, fmt.Sprint(row[:3]))
	}
	want := []string{
		"[base: Bobbin 3 × Flink's best, 0.3 × Flink's worker 4.00 ×, 0.30 ×]", "[base: Flink, DataSet  ]", "[base: Flink, SQL  ]",
		"[**missed: Bobbin** **3 × Flink's best** **2.00 ×**]", "[missed: Flink, DataSet  ]",
		"[grown: Bobbin 1.1 × the processor time for a byte of base 1.10 ×]",
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"5.00 s", "20 MB/s", "10.00 s", "10.0 MB", "1.0 MiB", "2.0 MiB", "96 MB"}, got.rows[0][3:]); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}
