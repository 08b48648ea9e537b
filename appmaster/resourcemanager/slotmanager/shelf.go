package slotmanager

import (
	"cmp"
	"iter"
	"slices"
)

// shelf holds the registered workers with a free slot, in the order in which they give slots: by
// rank, then older workers before younger ones. To move a worker costs a binary search and a move of
// pointers, so a grant never sorts or searches all workers.
type shelf struct {
	spread bool
	ranks  [][]*worker // each by sequence
}

const noRank = -1

// newShelf makes an empty shelf. All workers have this number of slots.
func newShelf(spread bool, slots int) shelf {
	if spread {
		return shelf{spread: true, ranks: make([][]*worker, slots)} // by used slots
	}
	return shelf{ranks: make([][]*worker, 2)} // used workers before unused ones, which may then be released
}

// rank is the place of a worker in the order, or noRank if it has no slot to give.
func (s *shelf) rank(w *worker) int {
	switch {
	case w.state != registered || w.used == len(w.slots):
		return noRank
	case s.spread:
		return w.used
	case w.used > 0:
		return 0
	default:
		return 1
	}
}

// turn is how many of the wanted slots a worker gives before it is the next one's turn.
func (s *shelf) turn(wanted int) int {
	if s.spread {
		return min(wanted, 1)
	}
	return wanted
}

// place puts a worker where its state and its used slots want it.
func (s *shelf) place(w *worker) {
	rank := s.rank(w)
	if rank == w.rank {
		return
	}
	s.remove(w)
	if w.rank = rank; rank != noRank {
		s.ranks[rank] = add(s.ranks[rank], w)
	}
}

func (s *shelf) remove(w *worker) {
	if w.rank != noRank {
		s.ranks[w.rank] = remove(s.ranks[w.rank], w)
		w.rank = noRank
	}
}

// all iterates over the workers, in the order of the shelf.
func (s *shelf) all() iter.Seq[*worker] {
	return func(yield func(*worker) bool) {
		for _, rank := range s.ranks {
			for _, w := range rank {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// unused lists the workers without a used slot, by sequence.
func (s *shelf) unused() []*worker {
	if s.spread {
		return s.ranks[0]
	}
	return s.ranks[1]
}

// bySequence orders workers by the time at which they reached their state.
func bySequence(a, b *worker) int { return cmp.Compare(a.sequence, b.sequence) }

// add inserts a worker into a list that does not contain it. remove removes a worker from a list
// that may contain it. Both are cheap at the end of the list, and remove also at its beginning.
func add(list []*worker, w *worker) []*worker {
	at, _ := slices.BinarySearchFunc(list, w, bySequence)
	return slices.Insert(list, at, w)
}

func remove(list []*worker, w *worker) []*worker {
	switch at, found := slices.BinarySearchFunc(list, w, bySequence); {
	case !found:
		return list
	case at == 0:
		list[0] = nil
		return list[1:]
	default:
		return slices.Delete(list, at, at+1)
	}
}
