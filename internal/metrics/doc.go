// Package metrics is the one model of Bobbin's metrics, and the types with which code counts.
//
// A Sample is one metric at one time, as plain data: its scope with labels, its name, its kind and
// its value. A Source gives samples. REST (Flink's …/metrics?get=…) and the Prometheus text
// (package prom) show the samples of the same sources, so each fact has one definition. The table
// of Definitions says which metrics exist, and docs/metrics.md is made from it.
//
// Counter, Gauge, Meter and Histogram are for the shells of the roles. They may be used from any
// goroutine, have a fixed size, and allocate nothing when code counts. A core keeps plain numbers
// in its state (a Rate is one) and gives them in its status.
//
// The package reads no clock: callers give the time, and a Registry gets a clock. It starts no
// goroutine, and imports nothing of this module but the SDK's package operator.
package metrics
