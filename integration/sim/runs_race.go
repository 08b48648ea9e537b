//go:build race

package sim

// Runs is how many schedules the tests run by default, and Repeats how many they run twice. The race detector makes each
// some ten times slower.
const (
	Runs    = 50
	Repeats = 5
)
