package dataflow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// The planner's options. A graph's Config holds them, so that the hosts of the tasks choose as the planner has chosen.
const (
	// optionBroadcastThreshold is Flink's option for the size, in bytes, up to which a side of a join is broadcast.
	optionBroadcastThreshold = "table.optimizer.join.broadcast-threshold"
	// optionJoinSizes holds the sizes of both sides of each join without a hint, in bytes, in the order of the plan: "12/3456 ?/78".
	// Prepare sets it. ? is a size that is not known.
	optionJoinSizes = "pipeline.join-sizes"

	defaultBroadcastThreshold = 1 << 20
)

// choices is what the planner chooses by the sizes of inputs. Only the planner uses it.
type choices struct {
	threshold int64
	sizes     []joinSizes // that are known, by the numbers of the joins
	joins     [][2]*node  // the operators above the sides of the joins so far
}

// joinSizes are the sizes of both sides in bytes; -1: not known.
type joinSizes [2]int64

// newChoices reads the planner's options.
func newChoices(config map[string]string) (choices, error) {
	c := choices{threshold: defaultBroadcastThreshold}
	if text, set := config[optionBroadcastThreshold]; set {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return c, fmt.Errorf("option %s: %q is not a number of bytes", optionBroadcastThreshold, text)
		}
		c.threshold = n
	}
	for text := range strings.FieldsSeq(config[optionJoinSizes]) {
		sizes := joinSizes{}
		left, right, found := strings.Cut(text, "/")
		for side, part := range []string{left, right} {
			n, err := strconv.ParseInt(part, 10, 64)
			switch {
			case part == "?":
				n = -1
			case !found || err != nil || n < 0:
				return c, fmt.Errorf("option %s: %q is not two sizes: only the planner sets this option", optionJoinSizes, text)
			}
			sizes[side] = n
		}
		c.sizes = append(c.sizes, sizes)
	}
	return c, nil
}

// join chooses how the next join works, and says why. It never broadcasts a side whose elements without a partner are part of the
// result: each subtask would emit them.
func (c *choices) join(kind outer, left, right *node) (JoinHint, string) {
	sizes := joinSizes{-1, -1}
	if number := len(c.joins); number < len(c.sizes) {
		sizes = c.sizes[number]
	}
	c.joins = append(c.joins, [2]*node{left, right})
	leftKnown, rightKnown := sizes[leftSide] >= 0, sizes[rightSide] >= 0
	small := rightSide
	if leftKnown && (!rightKnown || sizes[leftSide] < sizes[rightSide]) {
		small = leftSide
	}
	for _, side := range []int{small, 1 - small} {
		if sizes[side] >= 0 && sizes[side] <= c.threshold && !kind[side] {
			hint := BroadcastLeft + JoinHint(side)
			return hint, fmt.Sprintf("%v, %s estimated, threshold %s", hint, volume(sizes[side]), volume(c.threshold))
		}
	}
	if leftKnown && rightKnown {
		hint := HashLeft + JoinHint(small)
		return hint, fmt.Sprintf("%v, %s estimated, %s on the other side", hint, volume(sizes[small]), volume(sizes[1-small]))
	}
	unknown := "both sides"
	switch {
	case leftKnown:
		unknown = "the right side"
	case rightKnown:
		unknown = "the left side"
	}
	return HashRight, fmt.Sprintf("%v, size unknown on %s", HashRight, unknown)
}

// volume formats a number of bytes.
func volume(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// choose plans a prepared job again, with the sizes of its inputs. The result has the same vertices, or the error wraps
// ErrNotDeterministic: the plan function has run long after its first time, and may have read a clock or a file.
func (c *Compiled) choose(g jobgraph.JobGraph) (jobgraph.JobGraph, error) {
	if len(c.joins) == 0 {
		return g, nil
	}
	bytes := make(map[*node]int64) // of the sources whose sizes are known
	for _, v := range c.vertices {
		splits := g.Vertices[v.id].Splits
		if slices.ContainsFunc(splits, func(s jobgraph.Split) bool { return s.Bytes() == 0 }) {
			continue
		}
		total := int64(0)
		for i := range splits {
			total = plus(total, splits[i].Bytes())
		}
		bytes[v.nodes[0]] = total
	}
	var sizes []string
	for _, sides := range c.joins {
		sizes = append(sizes, estimate(sides[leftSide], bytes)+"/"+estimate(sides[rightSide], bytes))
	}
	config := maps.Clone(c.Graph.Config)
	config[optionJoinSizes] = strings.Join(sizes, " ")
	parallelism, err := strconv.Atoi(config[optionDefaultParallelism])
	if err != nil {
		return g, fmt.Errorf("option %s: %w", optionDefaultParallelism, err)
	}
	again, err := Compile(c.Graph.Job, c.Graph.Args, PlanOptions{Parallelism: parallelism, Config: config})
	if err != nil {
		return g, err
	}
	if again.shape() != c.shape() {
		return g, fmt.Errorf("job %s: %w", c.Graph.Job, ErrNotDeterministic)
	}
	chosen := again.Graph
	for i := range chosen.Vertices {
		chosen.Vertices[i].Splits, chosen.Vertices[i].Outputs = g.Vertices[i].Splits, g.Vertices[i].Outputs
	}
	return chosen, nil
}

// plus adds two sizes, up to the greatest one.
func plus(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// estimate returns the bytes that the sources above an operator read, each one once, or ? if one of them does not know.
func estimate(n *node, bytes map[*node]int64) string {
	total, known := int64(0), true
	seen := make(map[*node]bool)
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if len(n.inputs) == 0 {
			size, has := bytes[n]
			total = plus(total, size)
			known = known && has
		}
		for _, in := range n.inputs {
			visit(in.from.node)
		}
	}
	visit(n)
	if !known {
		return "?"
	}
	return strconv.FormatInt(total, 10)
}
