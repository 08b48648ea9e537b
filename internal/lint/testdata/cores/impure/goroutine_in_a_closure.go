package impure

import (
	"slices"
	"time"
)

type starter struct{ numbers []int }

func (s *starter) Step(_ time.Time, event int) []int {
	slices.SortFunc(s.numbers, func(a, b int) int {
		go s.add(a) // want "impure.starter.Step: starts a goroutine"
		return a - b
	})
	return s.numbers
}

func (s *starter) add(a int) { s.numbers = append(s.numbers, a) }
