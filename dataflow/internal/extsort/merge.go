package extsort

import (
	"bytes"
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// merge is the stream of several runs. It is a tournament: a tree whose leaves are
// the cursors. Each inner node remembers the loser of its match. When the winner has
// moved on, only the matches on its way to the root are played again.
type merge struct {
	cursors []cursor
	losers  []int // losers[0] is the winner; the children of n are 2n and 2n+1
	begun   bool
}

// cursor is a run in a merge.
type cursor struct {
	item
	reader *spill.Reader
	ended  bool
}

func newMerge(runs []run) *merge {
	m := &merge{cursors: make([]cursor, len(runs)), losers: make([]int, len(runs))}
	for i, r := range runs {
		m.cursors[i].reader = r.Open()
	}
	return m
}

func (m *merge) next() (*item, error) {
	if !m.begun {
		if err := m.begin(); err != nil {
			return nil, err
		}
	} else {
		winner := m.losers[0]
		if err := m.cursors[winner].advance(); err != nil {
			return nil, err
		}
		m.play(winner)
	}
	if winner := &m.cursors[m.losers[0]]; !winner.ended {
		return &winner.item, nil
	}
	return nil, io.EOF
}

// begin reads the first record of each cursor, and plays all matches.
func (m *merge) begin() error {
	m.begun = true
	for i := range m.losers {
		m.losers[i] = absent
	}
	for i := range m.cursors {
		if err := m.cursors[i].advance(); err != nil {
			return err
		}
		m.play(i)
	}
	return nil
}

const absent = -1 // a match without a first player

// play lets a cursor play its matches, from its leaf to the root.
func (m *merge) play(winner int) {
	for n := (winner + len(m.cursors)) / 2; n > 0; n /= 2 {
		other := m.losers[n]
		if other == absent {
			m.losers[n] = winner
			return
		}
		if m.cursors[other].less(&m.cursors[winner]) {
			m.losers[n], winner = winner, other
		}
	}
	m.losers[0] = winner
}

// less reports whether a cursor's record comes first. An ended one comes last.
func (c *cursor) less(other *cursor) bool {
	switch {
	case c.ended || other.ended:
		return other.ended && !c.ended
	case c.prefix != other.prefix:
		return c.prefix < other.prefix
	default:
		return bytes.Compare(c.key, other.key) < 0
	}
}

// advance reads the cursor's next record.
func (c *cursor) advance() error {
	record, err := c.reader.Next()
	if errors.Is(err, io.EOF) {
		c.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	if !c.set(record) {
		return c.reader.Corrupt("a record has a key of an impossible length")
	}
	return nil
}
