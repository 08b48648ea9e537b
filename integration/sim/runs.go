//go:build !race

package sim

// Runs is how many schedules the tests run by default, and Repeats how many they run twice.
const (
	Runs    = 500
	Repeats = 20
)
