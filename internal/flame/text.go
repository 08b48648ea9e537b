package flame

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Sampled is a graph of one process as it crosses to another one.
type Sampled struct {
	Graph Graph
	End   time.Time // of the sampling
}

// errText says that a process has sent something that is no graph.
var errText = errors.New("is no flame graph")

// Encode returns the graph in at most the given number of bytes. The smallest nodes are joined for that, or because there
// are more than MaxNodes: this changes the graph.
//
// The first line has the end in ms since 1970, and the value of the root. Each further one has a node, after its parent:
// the level from 1, the value and the name. The children of a node are in the order of their names.
func (s *Sampled) Encode(most int) []byte {
	for nodes := MaxNodes; ; nodes /= 2 {
		s.Graph.Shrink(nodes)
		text := fmt.Appendf(nil, "%d %d\n", s.End.UnixMilli(), s.Graph.Root.Value)
		if text = appendChildren(text, &s.Graph.Root, 1); len(text) <= most || nodes == 0 {
			return text
		}
	}
}

func appendChildren(text []byte, n *Node, level int) []byte {
	for _, c := range n.Children {
		text = fmt.Appendf(text, "%d %d %s\n", level, c.Value, c.Name)
		text = appendChildren(text, c, level+1)
	}
	return text
}

// Decode reads what another process has encoded. It refuses what no honest process sends: more nodes, levels or longer names
// than allowed, children in another order than that of their names, and a node with less than its children.
func Decode(text []byte) (*Sampled, error) {
	first, rest, _ := strings.Cut(string(text), "\n")
	end, value, is := strings.Cut(first, " ")
	ms, err := strconv.ParseInt(end, 10, 64)
	total, err2 := valueOf(value)
	if err = errors.Join(err, err2); err != nil || !is {
		return nil, fmt.Errorf("%w: its first line is %.100q", errText, first)
	}
	s := &Sampled{End: time.UnixMilli(ms), Graph: Graph{Root: Node{Value: total}}}
	path := []*Node{&s.Graph.Root}
	left := []int64{total} // of each node of the path, without the children so far
	for line := range strings.Lines(rest) {
		level, value, name, err := nodeOf(strings.TrimSuffix(line, "\n"))
		switch {
		case err != nil:
			return nil, err
		case level < 1 || level > len(path) || level > MaxDepth:
			return nil, fmt.Errorf("%w: a node of level %d follows one of level %d", errText, level, len(path)-1)
		case s.Graph.nodes == MaxNodes:
			return nil, fmt.Errorf("%w: it has more than %d nodes", errText, MaxNodes)
		case value > left[level-1]:
			return nil, fmt.Errorf("%w: the children of a node of level %d have more than it", errText, level-1)
		}
		one, parent := &Node{Name: name, Value: value}, path[level-1]
		if n := len(parent.Children); n > 0 && parent.Children[n-1].Name >= name {
			return nil, fmt.Errorf("%w: the children of a node of level %d are not in the order of their names", errText, level-1)
		}
		parent.Children = append(parent.Children, one)
		s.Graph.nodes++
		left[level-1] -= value
		path, left = append(path[:level], one), append(left[:level], value)
	}
	return s, nil
}

func nodeOf(line string) (level int, value int64, name string, err error) {
	number, rest, _ := strings.Cut(line, " ")
	amount, name, _ := strings.Cut(rest, " ")
	level, err = strconv.Atoi(number)
	value, err2 := valueOf(amount)
	if err = errors.Join(err, err2); err != nil || name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, isControl) {
		return 0, 0, "", fmt.Errorf("%w: a node is %.100q", errText, line)
	}
	return level, value, name, nil
}

// valueOf reads a value, which plus has made.
func valueOf(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (v < 0 || plus(v, 0) != v) {
		err = strconv.ErrRange
	}
	return v, err
}
