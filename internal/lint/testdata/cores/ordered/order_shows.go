package ordered

import (
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/lint/testdata/cores/parts"
)

func (c *core) last() (name string) {
	for id := range c.workers { // want "ordered.core.Step → ordered.core.last: ranges over a map in random order: sort"
		name = id
	}
	return name
}

func (c *core) first() string {
	for id, w := range c.workers { // want "in random order"
		if w.told {
			return id
		}
	}
	return ""
}

func (c *core) unsorted() []string {
	var names []string
	for id := range c.workers { // want "in random order"
		names = append(names, id)
	}
	return append(names, slices.Collect(maps.Keys(c.sizes))...) // want "calls maps.Keys, which takes entries in random order"
}

// A type parameter hides that this is a map.
func unsortedOf[M mapOf[V], V any](m M) (names []string) {
	for id := range m { // want "in random order"
		names = append(names, id)
	}
	return names
}

type mapOf[V any] interface{ ~map[string]V }

// A stable sort keeps the order of equal elements.
func (c *core) stable() []*worker {
	var all []*worker
	for _, w := range c.workers { // want "in random order"
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b *worker) int { return a.used - b.used })
	return all
}

func (c *core) usedBeforeSorted() string {
	var names []string
	for id := range c.workers { // want "in random order"
		names = append(names, id)
	}
	text := strings.Join(names, ",")
	slices.Sort(names)
	return text
}

func (c *core) sortedInTheLoop() (texts []string) {
	var names []string
	for range 2 {
		texts = append(texts, strings.Join(names, ","))
		for id := range c.workers { // want "in random order"
			names = append(names, id)
		}
		slices.Sort(names)
	}
	return texts
}

func (c *core) joined() (text string, rate float64) {
	for id := range c.workers { // want "in random order"
		text += id
	}
	for _, size := range c.sizes { // want "in random order"
		rate += 1 / float64(size) // rounded each time
	}
	return text, rate
}

func (c *core) mixed() (n int) {
	for _, size := range c.sizes { // want "in random order"
		n += size
		n *= 2
	}
	return n
}

// One element leaves a value that the next one reads.
func (c *core) chained() {
	for _, w := range c.workers { // want "in random order"
		c.total += w.used
		w.slots = c.total
	}
	for _, w := range c.workers { // want "in random order"
		w.used = w.peer.used
	}
	for name, size := range c.sizes { // want "in random order"
		if !c.gone["all"] {
			c.gone[name] = size > 1
		}
	}
}

func (c *core) bounded() (n int) {
	for _, size := range c.sizes { // want "in random order"
		if n > 5 {
			break
		}
		n += size
	}
	for range c.sizes { // want "in random order"
		n++
		if c.total > 5 {
			break
		}
	}
	return n
}

// A loop over a map may or may not reach entries that are added meanwhile.
func (c *core) changing() {
	for name, size := range c.sizes { // want "in random order"
		c.sizes[name+"'"] = size
	}
	for name := range c.sizes { // want "in random order"
		delete(c.sizes, name+"'")
	}
}

// Two keys may have the same element.
func (c *core) keptKey() {
	for id, w := range c.workers { // want "in random order"
		w.name = id
	}
	for id, w := range c.workers { // want "in random order"
		id += "'"
		c.sizes[id] = w.used
	}
	for _, w := range c.workers { // want "in random order"
		w = w.peer
		w.name = c.names[w.used]
	}
}

// A call changes what the next call reads.
func (c *core) grown() {
	table := parts.Table{}
	for id, w := range c.workers { // want "in random order"
		c.sizes[id] = table.Grow(w.used)
	}
	for id := range c.workers { // want "in random order"
		c.note(id)
	}
}

func (c *core) dropped() (names []string) {
	maps.DeleteFunc(c.gone, func(id string, gone bool) bool { // want "calls maps.DeleteFunc, which takes entries in random order"
		names = append(names, id)
		return gone
	})
	return names
}

func (c *core) note(id string) { c.names = append(c.names, id) }

func (c *core) inAnyOrder() (all []string) {
	each := maps.Keys(c.workers) // want "calls maps.Keys, which takes entries in random order"
	for id := range each {
		all = append(all, id)
	}
	for id := range maps.Keys(c.workers) { // want "calls maps.Keys, which takes entries in random order"
		all = append(all, id)
	}
	var id string
	for id = range c.workers { // want "in random order"
	}
	return append(all, id)
}
