package programs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// model is what a session's Store must know: the programs, the one that was used longest ago first, with
// the jobs of each; and what is in the cache.
type model struct {
	order  []int
	jobs   map[int]int
	cached map[int]bool
}

// use makes a program the most recently used one.
func (m *model) use(n int) {
	m.order = append(slices.DeleteFunc(m.order, func(other int) bool { return other == n }), n)
}

// take is the effect of a request for a program that is in the cache, or arrives there.
func (m *model) take(n, most int) error {
	if !slices.Contains(m.order, n) && len(m.order) == most {
		oldest := slices.IndexFunc(m.order, func(n int) bool { return m.jobs[n] == 0 })
		if oldest < 0 {
			return msg.ErrTooManyPrograms
		}
		m.remove(m.order[oldest])
	}
	m.use(n)
	m.cached[n] = true
	return nil
}

func (m *model) remove(n int) {
	m.order = slices.DeleteFunc(m.order, func(other int) bool { return other == n })
	delete(m.cached, n)
}

// TestAStoreKnowsWhatItHolds runs users' requests in any order. It would catch a program that is forgotten
// while a job uses it, one that is forgotten for another that is then not added, and a hold in the cache
// that the Store does not know, which keeps a file there for ever.
func TestAStoreKnowsWhatItHolds(t *testing.T) {
	t.Parallel()
	const most, all = 3, 5
	contents := make([][]byte, all)
	for n := range contents {
		contents[n] = file(fmt.Sprint("program ", n))
	}
	rapid.Check(t, func(r *rapid.T) {
		a := newArea(t)
		s := a.session(t, 1)
		s.most = most
		m := &model{jobs: make(map[int]int), cached: make(map[int]bool)}
		program := rapid.IntRange(0, all-1)
		check := func(what string, n int, got, want error) {
			if !errors.Is(got, want) {
				r.Fatalf("%s %d: %v, want %v", what, n, got, want)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				n, hash := program.Draw(r, "program"), ""
				if rapid.Bool().Draw(r, "hash") {
					hash = hashOf(contents[n])
				}
				_, err := s.Add(t.Context(), "p", hash, bytes.NewReader(contents[n]))
				check("add", n, err, m.take(n, most))
			},
			"hold": func(r *rapid.T) {
				n := program.Draw(r, "program")
				want := msg.ErrProgramNotFound
				if m.cached[n] {
					if want = m.take(n, most); want == nil {
						m.jobs[n]++
					}
				}
				_, err := s.Hold(t.Context(), hashOf(contents[n]))
				check("hold", n, err, want)
			},
			"release": func(r *rapid.T) {
				n := program.Draw(r, "program")
				if m.jobs[n] == 0 {
					r.Skip("no job of it")
				}
				m.jobs[n]--
				m.use(n)
				s.Release(hashOf(contents[n]))
			},
			"remove": func(r *rapid.T) {
				n := program.Draw(r, "program")
				var want error
				switch {
				case !slices.Contains(m.order, n):
					want = msg.ErrProgramNotFound
				case m.jobs[n] > 0:
					want = msg.ErrProgramInUse
				default:
					m.remove(n)
				}
				check("remove", n, s.Remove(t.Context(), hashOf(contents[n])), want)
			},
			"": func(r *rapid.T) {
				var want, got []string
				for _, n := range m.order {
					want = append(want, hashOf(contents[n]))
				}
				for _, p := range s.List() {
					got = append(got, p.SHA256)
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					r.Fatalf("the session knows %v, want %v", got, want)
				}
				for _, dir := range []string{"application_1_0001/refs.d", "cache"} {
					entries, err := os.ReadDir(filepath.Join(a.root, dir))
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						r.Fatal(err)
					}
					var there []string
					for _, entry := range entries {
						there = append(there, entry.Name())
					}
					if !slices.Equal(there, want) {
						r.Fatalf("in %s there are %v, want %v", dir, there, want)
					}
				}
			},
		})
	})
}
