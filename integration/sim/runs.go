//go:build !race

package sim

// Runs is how many schedules the tests run by default.
const Runs = 500
