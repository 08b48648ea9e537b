// Package appmaster is the process that YARN starts for an application: Main
// reads its environment, starts the services and the roles, and ends the
// application. Component wires the roles; the minicluster uses it too.
//
// Of the roles only this package knows more than one. It never runs user code.
package appmaster
