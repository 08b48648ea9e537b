// Package appmaster is the process that YARN starts for an application. Main
// reads its environment, build makes its parts in order, and master runs them and
// ends them in order. What a cluster is for is a mode: perJob, application, session.
// Component wires the roles; the minicluster uses it too.
//
// Of the roles only this package knows more than one. It never runs user code.
package appmaster
