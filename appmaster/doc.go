// Package appmaster is the process that YARN starts for an application. Main reads its environment, build
// makes its parts in order, and master runs them and ends them in order. The types perJob, application and
// session are the modes of a cluster. Component connects the roles; the minicluster uses it too.
//
// The roles do not know each other: only this package connects them. It never runs user code.
package appmaster
