package flame

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a graph without its first line.
func text(g Graph) string {
	_, nodes, _ := strings.Cut(string((&Sampled{Graph: g, End: time.UnixMilli(7)}).Encode(1<<20)), "\n")
	return nodes
}

// check reports a node with less than its children, two children of one name, and a wrong count.
func check(t interface{ Errorf(string, ...any) }, g *Graph) {
	nodes := 0
	var visit func(n *Node, depth int)
	visit = func(n *Node, depth int) {
		sum, names := int64(0), map[string]bool{}
		for _, c := range n.Children {
			nodes++
			sum += c.Value
			if names[c.Name] || c.Value <= 0 || depth == MaxDepth {
				t.Errorf("a child %q of %q with %d, on level %d", c.Name, n.Name, c.Value, depth+1)
			}
			names[c.Name] = true
			visit(c, depth+1)
		}
		if sum > n.Value {
			t.Errorf("%q has %d, and its children %d", n.Name, n.Value, sum)
		}
	}
	visit(&g.Root, 0)
	if nodes != g.nodes {
		t.Errorf("%d nodes count as %d", nodes, g.nodes)
	}
}

// TestGraphsAreWholeInAnyOrder would catch a node with less than its children, a value that is lost when small nodes
// are joined or when a graph crosses to another process, and a bound that does not hold.
func TestGraphsAreWholeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stacks := rapid.SliceOf(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d\n", "", strings.Repeat("é", maxName), Others}), 0, MaxDepth+2)).Draw(t, "stacks")
		most := rapid.IntRange(0, 40).Draw(t, "most")
		bytes := rapid.IntRange(100, 4000).Draw(t, "bytes")
		var whole, joined Graph
		total := int64(0)
		for i, stack := range stacks {
			value := int64(i % 5)
			whole.Add(stack, value)
			total += value
			var one Graph
			one.Add(stack, value)
			joined.AddChildren(&one.Root)
		}
		check(t, &whole)
		check(t, &joined)
		if text(whole) != text(joined) {
			t.Errorf("added: %s, joined: %s", text(whole), text(joined))
		}
		sent := Sampled{Graph: whole, End: time.UnixMilli(1_700_000_000_000)}
		sent.Graph.Shrink(most)
		check(t, &sent.Graph)
		if sent.Graph.nodes > most+1 || sent.Graph.Root.Value != total {
			t.Errorf("%d nodes of at most %d, and the value %d of %d", sent.Graph.nodes, most, sent.Graph.Root.Value, total)
		}
		encoded := sent.Encode(bytes)
		if len(encoded) > bytes {
			t.Errorf("%d bytes of at most %d", len(encoded), bytes)
		}
		got, err := Decode(encoded)
		if err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		check(t, &got.Graph)
		if again := got.Encode(bytes); string(again) != string(encoded) || !got.End.Equal(sent.End) {
			t.Errorf("sent %s, got %s", encoded, again)
		}
	})
}

// TestTheLargestNodesStay would catch a graph that loses where the time goes, or a task, for small nodes.
func TestTheLargestNodesStay(t *testing.T) {
	t.Parallel()
	var g Graph
	for i := range 40 {
		g.Add([]string{"small", fmt.Sprint(i), "leaf"}, 2)
	}
	g.Add([]string{"hot", "sort"}, 1000)
	g.Add([]string{"idle"}, 1)
	g.Shrink(10)
	want := "1 1000 hot\n2 1000 sort\n1 1 idle\n1 80 small\n2 78 (others)\n2 2 0\n3 2 (others)\n"
	if got := text(g); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestForgedGraphsAreRefused would catch a process that fills the ApplicationMaster's memory, or draws a graph that
// shows more than there is.
func TestForgedGraphsAreRefused(t *testing.T) {
	t.Parallel()
	many, deep := "1 9000\n", "1 1\n"
	for i := range MaxNodes + 1 {
		many += fmt.Sprintf("1 1 %d\n", i)
	}
	for i := range MaxDepth + 1 {
		deep += fmt.Sprintf("%d 1 f\n", i+1)
	}
	for name, sent := range map[string]string{
		"nothing": "", "no end": "x 1\n", "no value": "1\n", "a negative value": "1 -1\n", "a large value": "1 9007199254740993\n",
		"a level is left out": "1 1\n2 1 f\n", "level 0": "1 1\n0 1 f\n", "no name": "1 1\n1 1 \n", "a long name": "1 1\n1 1 " + strings.Repeat("x", maxName+1) + "\n",
		"a control character": "1 1\n1 1 a\rb\n", "no UTF-8": "1 1\n1 1 \xff\n", "children with more": "1 3\n1 2 a\n2 1 b\n2 2 c\n",
		"the root's children with more": "1 3\n1 2 a\n1 2 b\n", "a name twice": "1 3\n1 1 a\n1 1 a\n", "many": many, "deep": deep,
	} {
		if got, err := Decode([]byte(sent)); err == nil {
			t.Errorf("%s: got %s", name, text(got.Graph))
		}
	}
}

// FuzzDecode would catch a forged graph that ends the process, and one that is read and then differs from itself.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("1700000000000 3\n1 3 main.main\n2 2 main.work\n"))
	f.Add([]byte("1 1\n2 1 f\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		got, err := Decode(sent)
		if err != nil {
			return
		}
		first := got.Encode(1 << 20)
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("%v: %q", err, first)
		}
		if second := again.Encode(1 << 20); string(first) != string(second) {
			t.Errorf("%q becomes %q", first, second)
		}
	})
}

// labelled runs a function that waits in a goroutine of a task, and takes a profile of all goroutines meanwhile.
func labelled(t *testing.T, waits func(<-chan struct{})) []byte {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go pprof.Do(t.Context(), pprof.Labels("task", "e1-v0-s0-a0"), func(context.Context) { // ends with end
		defer close(done)
		close(begun)
		waits(end)
	})
	<-begun
	var profile bytes.Buffer
	for {
		profile.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 0); err != nil {
			t.Fatal(err)
		}
		var g Graph
		if err := g.AddProfile(profile.Bytes(), Selection{Type: "goroutine", Label: "task", Leaf: Parked}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text(g), "e1-v0-s0-a0") {
			break // it waits now
		}
	}
	close(end)
	<-done
	return profile.Bytes()
}

func waitsForTheEnd(end <-chan struct{}) { <-end }

// TestAProfileIsFolded would catch functions in the wrong order, a task without its name, and the goroutines of others
// that count for it.
func TestAProfileIsFolded(t *testing.T) {
	profile := labelled(t, waitsForTheEnd)
	var g Graph
	if err := g.AddProfile(profile, Selection{Type: "goroutine", Label: "task"}); err != nil {
		t.Fatal(err)
	}
	check(t, &g)
	if len(g.Root.Children) != 1 || g.Root.Children[0].Name != "e1-v0-s0-a0" {
		t.Fatalf("graph:\n%s", text(g))
	}
	var names []string
	for n := g.Root.Children[0]; n != nil; {
		names = append(names, n.Name)
		if n.Value != 1 || len(n.Children) > 1 {
			t.Errorf("%s has %d, and %d children", n.Name, n.Value, len(n.Children))
		}
		if len(n.Children) == 0 {
			break
		}
		n = n.Children[0]
	}
	waits := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "waitsForTheEnd") })
	if waits < 2 || !Parked(names[len(names)-1]) || waits == len(names)-1 {
		t.Errorf("stack: %q", names)
	}
	var running Graph
	if err := running.AddProfile(profile, Selection{Type: "goroutine", Label: "task", Leaf: func(f string) bool { return !Parked(f) }}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text(running), "waitsForTheEnd") {
		t.Errorf("a goroutine that waits counts as one that runs:\n%s", text(running))
	}
	if err := running.AddProfile(profile, Selection{Type: "cpu"}); err == nil {
		t.Error("a profile of goroutines has values of the processor")
	}
}

// TestValuesAreScaled would catch a heap that is shown in another unit.
func TestValuesAreScaled(t *testing.T) {
	t.Parallel()
	var profile bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&profile, 0); err != nil {
		t.Fatal(err)
	}
	var one, half Graph
	for g, scale := range map[*Graph]int64{&one: 0, &half: 2} {
		if err := g.AddProfile(profile.Bytes(), Selection{Type: "alloc_space", Scale: scale}); err != nil {
			t.Fatal(err)
		}
		check(t, g)
	}
	if diff := one.Root.Value - 2*half.Root.Value; half.Root.Value == 0 || diff < 0 || diff > 10_000 {
		t.Errorf("%d and %d", one.Root.Value, half.Root.Value)
	}
}

// FuzzAddProfile would catch bytes that end the process.
func FuzzAddProfile(f *testing.F) {
	var profile bytes.Buffer
	if err := pprof.Lookup("threadcreate").WriteTo(&profile, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(profile.Bytes())
	f.Add([]byte("no gzip"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var g Graph
		_ = g.AddProfile(b, Selection{Type: "threadcreate", Label: "task"})
		if p, err := parse(b); err == nil { // without the compression, which the fuzzer does not get through
			_ = p.addTo(&g, Selection{Type: "", Label: "task"})
		}
		check(t, &g)
	})
}
