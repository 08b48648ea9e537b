// Package diagnosis says in words where a job is slow, and which subtask has too much of the work. The page, the terminal
// and the archive of a job show these words, so that all of them say the same.
//
// It is pure: it knows the description of a job and the numbers of REST's answer about its vertices. Subtasks have
// Flink's index from 0 in fields, and are counted from 1 in words, as in the names of tasks. It starts no goroutines.
package diagnosis

import (
	"fmt"
	"unicode/utf8"
)

// The thresholds of all diagnoses; docs/web.md has them for users.
const (
	// pressured is the share of its time that a subtask must wait for its consumers before a vertex counts as one that waits.
	// It is Flink's level low of back-pressure.
	pressured = 0.1
	// busy is the share of its time that a subtask must work before its vertex counts as slow.
	busy = 0.5
	// unequal is how many times the mean of the others the busiest subtask works, if the work is not spread equally.
	unequal = 2
	// apart is how far a subtask must be from the mean of all if it is worth a word.
	apart = 0.1
	// outlier is how many times the usual amount a subtask has, if its vertex is skewed.
	outlier = 3
	// fewSubtasks is up to how many subtasks the usual amount is the mean of all but the largest: their median contains the largest.
	fewSubtasks = 3
)

// longestName bounds the name of a vertex in a sentence, in characters: the names of chains are long.
const longestName = 40

// named quotes the name of a vertex.
func named(name string) string {
	if utf8.RuneCountInString(name) > longestName {
		name = string([]rune(name)[:longestName-1]) + "…"
	}
	return "“" + name + "”"
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// othersOf names all subtasks but one.
func othersOf(subtasks int) string {
	if subtasks == 2 {
		return "the other one"
	}
	return "the others"
}

// ofAll names a subtask: "subtask 3 of 4".
func ofAll(subtask, parallelism int) string {
	return fmt.Sprintf("subtask %d of %d", subtask+1, parallelism)
}
