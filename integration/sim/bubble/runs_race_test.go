//go:build race

package bubble

// defaultRuns is how many seeds the test runs. The race detector makes each some four times slower.
const defaultRuns = 10
