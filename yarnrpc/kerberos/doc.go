// Package kerberos gets tickets as Hadoop's clients do. It reads krb5.conf, credential
// caches and keytabs, knows Hadoop's principals, and talks to KDCs with the messages of
// github.com/jcmturner/gokrb5. It only gets tickets: package sasl presents a ticket to a
// server. Package creds holds Hadoop's own tokens.
//
//	FromEnvironment   as the user of this machine, with the ticket that kinit got
//	FromCache         with the ticket in a certain cache
//	FromKeytab        as a service, with its keys
//
// Each makes a Login for yarnrpc.Auth. A Login gets tickets for services, and replaces its own
// ticket before it expires.
//
// The package has its own readers for krb5.conf with its includes (LoadConfig), credential
// caches (FindCache, ReadCache) and keytabs (ReadKeytab). The readers of gokrb5 refuse
// files that every other Kerberos program accepts, and panic on damaged files. A Config
// contains gokrb5's configuration; Cache.Credentials and Keytab.Login return gokrb5's types.
// Each error names the file and the remedy. Principals (ParsePrincipal, ServerPrincipal,
// Server) follow Hadoop's rules.
//
// A Login gets tickets over a KDC's TCP port. It does not use gokrb5's client, which
// starts goroutines and takes no contexts.
//
// Errors and the output of fmt never show a key or ticket. The package does not read the
// process environment; the program passes it in. It starts no goroutine. Of this module it
// imports only sasl, secretfile and internal/pause.
package kerberos
