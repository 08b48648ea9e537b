//go:build race

package sim

// Runs is how many schedules the tests run by default. The race detector makes each some ten times
// slower.
const Runs = 50
