// Package kerberos gets tickets as Hadoop's clients do: it reads krb5.conf, credential
// caches and keytabs, knows Hadoop's principals, and speaks to KDCs, over
// github.com/jcmturner/gokrb5. It ends with the ticket: package sasl shows
// that to a server. Package creds keeps Hadoop's own tokens.
//
//	FromEnvironment   as the user of this machine, with the ticket that kinit got
//	FromCache         with the ticket in a certain cache
//	FromKeytab        as a service, with its keys
//
// Each makes a Login, which gets tickets and renews itself: it is what
// yarnrpc.Auth wants.
//
// The package puts a reader of its own before each file that gokrb5 would read, because
// those refuse files that every other Kerberos program takes, or panic on damaged
// ones: krb5.conf with its includes (LoadConfig), credential caches (FindCache,
// ReadCache) and keytabs (ReadKeytab). Each answers in gokrb5's types, and each
// error names the file and the remedy. Principals (ParsePrincipal,
// ServerPrincipal, Server) follow Hadoop's rules.
//
// A Login gets tickets, over a KDC's TCP port and with messages of gokrb5's; its client is
// not used, which has goroutines and no contexts.
//
// No key or ticket ever shows in an error or in the output of fmt. The package
// reads no process environment by itself: entry points pass it in. It starts
// no goroutine, and of ours imports sasl and secretfile alone.
package kerberos
