// Command testrun runs the tests: the unit tests and the suites below integration, several at a
// time, with shared clusters. scripts/test builds and runs it.
//
// A suite is a package with the clusters that its tests need (plan.go). Suites run side by side in
// lanes, because they mostly wait for YARN. One lane begins with the unit tests, which mostly
// compute. A cluster starts when the first test asks for it, and ends when no remaining suite needs
// it. testrun builds the changed programs, also those of the tests, in the order of need
// (builder.go), while the first suites run.
//
// `make test` has the tests in Go's short mode, without the suites that are thorough; `make test-thorough` has what is left
// (extent.go, shortened.go).
//
// For packages it prints what `go test` prints, with the whole output of failed packages. At the
// end it prints the minutes of each suite, the slowest tests, the skipped tests with their reasons,
// and the figures that tests have measured. A skipped test fails the run, unless it is a long test
// (cluster.Long) in a run without long tests, or one that `make test-thorough` runs.
//
// There is one goroutine for each lane, which ends with its last suite, and one that builds. When the command ends in
// any way, its clusters and tests end too.
package main
