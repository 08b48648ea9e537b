//go:build !race

package bubble

// defaultRuns is how many seeds the test runs.
const defaultRuns = 20
