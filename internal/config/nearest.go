package config

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest gives the candidate that differs from name in the fewest letters
// added, left out, changed or swapped with their neighbour: what a person
// probably meant. One that is broken off behind its middle differs in one. The first
// counts where several are as near; "" where none is near: more than half of the name
// differs.
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

// leastRun is the least run of letters that says something of a name.
const leastRun = 4

// likest gives the candidate that has the longest run of letters in common with name, in
// any case, and the shortest of several: a user who gives a part of a name sees one that has
// it. "" where that run is shorter than leastRun, or than half of the name.
func likest(name string, candidates []string) string {
	best := slices.MaxFunc(candidates, func(a, b string) int {
		return cmp.Or(cmp.Compare(longestRun(name, a), longestRun(name, b)), cmp.Compare(len(b), len(a)))
	})
	if run := longestRun(name, best); run < leastRun || 2*run < len(name) {
		return ""
	}
	return best
}

// longestRun is the length of the longest text that both hold, in bytes.
func longestRun(a, b string) (longest int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	above, row := make([]int, len(b)+1), make([]int, len(b)+1) // lengths of runs that end there
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
