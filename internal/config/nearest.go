package config

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the candidate with the fewest changes from name: letters that are added, left
// out, replaced, or swapped with their neighbour. A name that is a candidate's beginning, and
// longer than half of it, counts as one change. The first of several equal candidates counts.
// Nearest returns "" if more than half of the name differs from every candidate.
func Nearest(name string, candidates []string) string {
	best, least := "", -1
	for _, candidate := range candidates {
		d := distance(name, candidate)
		if strings.HasPrefix(candidate, name) && 2*len(name) > len(candidate) {
			d = min(d, 1)
		}
		if least < 0 || d < least {
			best, least = candidate, d
		}
	}
	if 2*least > len(name) {
		return ""
	}
	return best
}

// leastRun is the shortest run of letters that is significant in a name.
const leastRun = 4

// likest returns the candidate with the longest run of letters in common with name, in any case,
// and the shortest of several. So a user who gives a part of a name sees an option that contains
// it. It returns "" if the run is shorter than leastRun, or than half of the name.
func likest(name string, candidates []string) string {
	best := slices.MaxFunc(candidates, func(a, b string) int {
		return cmp.Or(cmp.Compare(longestRun(name, a), longestRun(name, b)), cmp.Compare(len(b), len(a)))
	})
	if run := longestRun(name, best); run < leastRun || 2*run < len(name) {
		return ""
	}
	return best
}

// longestRun returns the length of the longest text that both contain, in bytes.
func longestRun(a, b string) (longest int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	above, row := make([]int, len(b)+1), make([]int, len(b)+1) // lengths of the runs that end there
	for i := range len(a) {
		for j := range len(b) {
			row[j+1] = 0
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
				longest = max(longest, row[j+1])
			}
		}
		above, row = row, above
	}
	return longest
}

// distance is the optimal string alignment distance, over bytes.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
