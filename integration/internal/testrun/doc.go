// Command testrun runs the tests: the unit tests and the suites below integration, several
// at a time, over clusters that they share. scripts/test builds and runs it.
//
// A suite is a package with the clusters that its tests ask for (plan.go). Suites run in
// lanes beside each other, since most of their time is YARN's and not a processor's. A
// cluster starts when the first test asks for it, and ends when no suite is left that
// needs it. Programs, those of the tests among them, are built before, where something has changed.
//
// It prints what `go test` prints of packages, the whole output of those that fail, and at
// the end the minutes of each suite, the slowest tests, what was skipped and why, and the
// figures that tests have measured. A test that is skipped fails the run, unless it is one
// of the long ones (cluster.Long) in a run without them.
//
// One goroutine a lane, which ends with its last suite. However the command ends, its
// clusters and tests end with it.
package main
