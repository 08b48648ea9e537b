// Package appmaster is the process that YARN starts for an application. Main reads its environment. Then
// build opens what reaches other processes (files, ports, clients of YARN) and hands it to New as an
// Outside. New makes the parts that decide, and a Master runs them and ends them in order. The types
// perJob, application and session are the modes of a cluster. Component connects the roles; the minicluster
// uses it too.
//
// The simulation of a cluster hands New an Outside of models. So a Master and all that it runs start work,
// wait and read the clock only in package sched. Only users' programs are outside of that.
//
// The roles do not know each other: only this package connects them. It never runs user code.
package appmaster
