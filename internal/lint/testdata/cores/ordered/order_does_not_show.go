package ordered

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/lint/testdata/cores/parts"
)

func (c *core) counted() (free, busy int, bits uint) {
	for id, w := range c.workers {
		if w.used == 0 || strings.HasPrefix(id, "spare") {
			free += w.slots
			continue
		}
		for range w.slots {
			busy++
		}
		bits |= uint(w.used)
		local := busyIn(w)
		local++
		c.sizes[w.name] += local
	}
	table := parts.Table{}
	for range c.sizes {
		c.total += table.Size()
	}
	return free, busy, bits
}

func busyIn(w *worker) (n int) {
	for i := range w.slots {
		n += i
	}
	return n
}

func (c *core) copied(to map[string]int) {
	for name, size := range c.sizes {
		to[name] = size + 1
		c.gone[name] = false
		switch {
		case size > 3:
			c.gone[name] = false
		}
	}
	for name, size := range c.sizes {
		if before, is := to[name]; is {
			size += before
		}
		to[name] = size
	}
	for name := range maps.Keys(c.sizes) {
		to[name] = c.sizes[name]
	}
	maps.Insert(to, maps.All(c.sizes))
}

func (c *core) forgotten(now time.Time) {
	maps.DeleteFunc(c.gone, func(id string, gone bool) bool { return gone && c.workers[id] == nil })
	for id, w := range c.workers {
		if w.deadline.Before(now) {
			delete(c.workers, id)
			delete(c.sizes, w.name)
			c.gone[w.name] = true
		}
	}
}

func (c *core) excused(now time.Time) {
	for _, w := range c.workers {
		if w.deadline.Before(now) {
			w.deadline = w.deadline.Add(time.Second)
		}
		w.told = true
	}
}

func (c *core) collected() []string {
	names := make([]string, 0, len(c.workers))
	for id, w := range c.workers {
		if w.told {
			names = append(names, id)
		}
	}
	for _, w := range c.workers {
		for range w.slots {
			names = append(names, w.name)
		}
	}
	slices.Sort(names)
	sizes := slices.Collect(maps.Values(c.sizes))
	slices.Sort(sizes)
	c.names = nil
	for id := range c.gone {
		c.names = append(c.names, id)
	}
	slices.SortFunc(c.names, cmp.Compare)
	return names
}

func (c *core) listed() []string {
	return append(slices.Sorted(maps.Keys(c.workers)), slices.SortedFunc(maps.Keys(c.sizes), strings.Compare)...)
}

func (c *core) largest() (least, most int, some bool) {
	for _, size := range c.sizes {
		most = max(most, size)
		least = min(size, least)
		some = some || size > 2
	}
	return least, most, some
}

func (c *core) found() bool {
	some := false
	for _, w := range c.workers {
		if slices.ContainsFunc(c.names, func(name string) bool { return name == w.name }) {
			some = true
			break
		}
	}
	for _, w := range c.workers {
		if w.told {
			return true
		}
	}
	return some
}
