// Package flame makes flame graphs: trees of functions, each with how often, how long or how much it was seen, with
// all that it calls. A process folds its own profiles into a Graph, and the ApplicationMaster joins the graphs of
// several processes.
//
// The package starts no goroutine. A Graph that comes from another process is never larger than its bounds.
package flame

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

const (
	// MaxNodes bounds the nodes of a graph that crosses processes, or that REST answers with.
	MaxNodes = 4000
	// MaxDepth bounds the levels below the root. Deeper calls count for the function on the last level.
	MaxDepth = 100 // as Flink's rest.flamegraph.stack-depth
	// maxName bounds a name, in bytes.
	maxName = 160
	// Others is the name of a node that stands for several small ones.
	Others = "(others)"
)

// Node is a function and those that call it, or a task.
type Node struct {
	Name     string
	Value    int64            // with that of the children; at least their sum
	Children []*Node          // no two of one name
	index    map[string]*Node // of the children, or of none of them
}

// Graph is a flame graph. Its zero value is empty. One goroutine uses it at a time.
type Graph struct {
	Root  Node
	nodes int // below the root
}

// child returns the child of a name, which it makes if there is none.
func (g *Graph) child(of *Node, name string) *Node {
	if len(of.index) != len(of.Children) {
		of.index = make(map[string]*Node, len(of.Children))
		for _, c := range of.Children {
			of.index[c.Name] = c
		}
	}
	if one := of.index[name]; one != nil {
		return one
	}
	if of.index == nil {
		of.index = make(map[string]*Node)
	}
	one := &Node{Name: name}
	of.index[name] = one
	of.Children = append(of.Children, one)
	g.nodes++
	return one
}

// Add adds a stack, the outermost function first. A value that is not above 0 adds nothing.
func (g *Graph) Add(stack []string, value int64) {
	if value <= 0 {
		return
	}
	at := &g.Root
	at.Value = plus(at.Value, value)
	for _, name := range stack[:min(len(stack), MaxDepth)] {
		at = g.child(at, clip(name))
		at.Value = plus(at.Value, value)
	}
}

// AddChildren adds the children of a node of another graph below the root, and their values to it. The values of
// functions that both have are added.
func (g *Graph) AddChildren(from *Node) {
	sum := int64(0)
	for _, c := range from.Children {
		g.join(&g.Root, c, 1)
		sum = plus(sum, c.Value)
	}
	// The part that the node does itself, and none of its children.
	g.Root.Value = plus(g.Root.Value, max(sum, from.Value))
}

func (g *Graph) join(to, from *Node, depth int) {
	if depth > MaxDepth {
		return
	}
	at := g.child(to, clip(from.Name))
	at.Value = plus(at.Value, from.Value)
	for _, c := range from.Children {
		g.join(at, c, depth+1)
	}
}

// plus adds values of processes that may not be honest: a sum that is too large stays the largest number, so that no
// node becomes smaller than its children.
func plus(a, b int64) int64 {
	const most = int64(1) << 53 // JSON's readers have no larger whole numbers
	return min(a+min(b, most), most)
}

// Shrink keeps the largest nodes, and joins the others of each parent into one. So the graph has no more than the
// given number of nodes. Nodes on the first level come first: these are tasks. The children of each node are in the order
// of their names afterwards.
func (g *Graph) Shrink(most int) {
	if g.nodes > most {
		kept := make(map[*Node]bool, most/2)
		front := candidates{}
		front.pushAll(&g.Root, 1)
		for len(front) > 0 && len(kept) < most/2 { // each of them may get one for others
			next := heap.Pop(&front).(candidate) //nolint:forcetypeassert // nothing else is pushed
			kept[next.node] = true
			front.pushAll(next.node, next.depth+1)
		}
		g.nodes = fold(&g.Root, kept)
	}
	order(&g.Root)
}

// fold joins children that are not kept, and returns the number of nodes below one.
func fold(n *Node, kept map[*Node]bool) int {
	var rest int64
	children := n.Children
	n.Children, n.index = nil, nil
	count := 0
	for _, c := range children {
		if kept[c] && c.Name != Others {
			n.Children = append(n.Children, c)
			count += 1 + fold(c, kept)
		} else {
			rest = plus(rest, c.Value)
		}
	}
	if rest > 0 {
		n.Children = append(n.Children, &Node{Name: Others, Value: rest})
		count++
	}
	return count
}

func order(n *Node) {
	slices.SortFunc(n.Children, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range n.Children {
		order(c)
	}
}

// candidate is a node that may be kept, because its parent is.
type candidate struct {
	node  *Node
	depth int
}

// candidates is a heap; the next one to keep is the first.
type candidates []candidate

func (c *candidates) pushAll(parent *Node, depth int) {
	for _, child := range parent.Children {
		heap.Push(c, candidate{child, depth})
	}
}

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c candidates) Less(i, j int) bool {
	a, b := c[i], c[j]
	if first := a.depth == 1; first != (b.depth == 1) {
		return first
	}
	// Of nodes with equal values, it does not matter which stay, but it must always be the same ones.
	return cmp.Or(cmp.Compare(b.node.Value, a.node.Value), cmp.Compare(a.depth, b.depth), strings.Compare(a.node.Name, b.node.Name)) < 0
}
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) } //nolint:forcetypeassert // heap.Push passes what pushAll gives
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// clip makes a name that fits into a line of the text form.
func clip(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	name = strings.ToValidUTF8(name, "")
	if strings.ContainsFunc(name, isControl) {
		name = strings.Map(func(r rune) rune {
			if isControl(r) {
				return ' '
			}
			return r
		}, name)
	}
	return cmp.Or(name, "(unknown)")
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
