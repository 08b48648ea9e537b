package jobs

import (
	"cmp"
	"fmt"
	"slices"
)

// naive evaluates the program operators, except those operators whose lines have an order or are not determined. The lines of a name
// have no order.
func naive(left, right []record) map[string][]string {
	lines := make(map[string][]string)
	add := func(name string, words ...any) { lines[name] = append(lines[name], fmt.Sprint(words...)) }
	list := summarized(right)
	for _, r := range left {
		add("map", record{r.key, 2 * r.value})
		if r.value%3 == 0 {
			add("filter", r)
		}
		for range r.value % 3 {
			add("flatmap", r)
		}
		add([]string{"main", "side"}[r.value%2], r)
		if r.value%7 == 0 {
			add("rejected", r)
		} else {
			add("tried", r)
		}
		add("rebalance", r)
		add("broadcast", r) // in both subtasks
		add("broadcast", r)
		add("partition", r.value%2, " ", r)
		add("with-list", r, " ", list)
	}
	slices.SortFunc(left, func(a, b record) int { return cmp.Compare(b.value, a.value) })
	for _, r := range left[:10] {
		add("largest", r)
	}
	ofLeft, ofRight := grouped(left), grouped(right)
	for key, group := range ofLeft { // the largest value is the first one
		s := summarized(group)
		add("distinct", key)
		add("count", key, " ", s.n)
		add("sum", key, " ", s.sum)
		add("min", key, " ", group[len(group)-1].printed())
		add("max", key, " ", group[0].printed())
		add("avg", key, " ", float64(s.sum)/float64(s.n))
		add("reduce", key, " ", record{key, s.sum}.printed())
		add("aggregate", key, " ", s)
		add("group", key, " ", s)
		var top []string
		for _, r := range group[:min(3, len(group))] {
			top = append(top, r.printed())
		}
		add("top", key, " ", top)
		add("cogroup", key, " ", s, " ", summarized(ofRight[key]))
		if len(ofRight[key]) == 0 {
			for _, l := range group {
				add("left-join", l, " -")
				add("full-join", l, " -")
			}
		}
	}
	for key, group := range ofRight {
		if len(ofLeft[key]) == 0 {
			add("cogroup", key, " ", summarized(nil), " ", summarized(group))
		}
		for _, r := range group {
			if len(ofLeft[key]) == 0 {
				add("right-join", "- ", r)
				add("full-join", "- ", r)
			}
			for _, l := range ofLeft[key] {
				for _, name := range []string{"join-1", "join-2", "join-3", "join-4", "join-5", "left-join", "right-join", "full-join"} {
					add(name, l, " ", r)
				}
			}
		}
	}
	return lines
}

// ordered returns the values of records in order.
func ordered(records []record, down bool) (values []string) {
	slices.SortFunc(records, func(a, b record) int {
		if down {
			a, b = b, a
		}
		return cmp.Compare(a.value, b.value)
	})
	for _, r := range records {
		values = append(values, fmt.Sprint(r.value))
	}
	return values
}

func grouped(records []record) map[string][]record {
	groups := make(map[string][]record)
	for _, r := range records {
		groups[r.key] = append(groups[r.key], r)
	}
	return groups
}

func (r record) String() string { return fmt.Sprint(r.key, " ", r.value) }

// printed is how the program prints a record within a result.
func (r record) printed() string { return fmt.Sprintf("{%s %d}", r.key, r.value) }

// summary is the number of some records, and their sum.
type summary struct{ n, sum int64 }

func (s summary) String() string { return fmt.Sprint(s.n, " ", s.sum) }

func summarized(records []record) (s summary) {
	for _, r := range records {
		s.n++
		s.sum += r.value
	}
	return s
}
