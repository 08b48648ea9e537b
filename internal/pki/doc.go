// Package pki makes and checks the certificates by which Bobbin's processes identify each other.
// The first ApplicationMaster of an application makes an Authority when it starts, and stores it for
// the next one. The Authority issues certificates for the ApplicationMaster, for REST and for each
// TaskExecutor. A TaskExecutor issues one for each of its task hosts:
//
//	authority ─┬─ bobbin:<application>/am
//	           ├─ bobbin:<application>/rest
//	           └─ bobbin:<application>/te/<container>
//	               └─ bobbin:<application>/host/<job>/<container>
//
// The URI in a certificate and its issuer identify a process. Host names do not: containers share
// nodes, and nodes have many names. All connections use TLS 1.3. Both ends have certificates,
// except with REST.
//
// The package starts no goroutine, writes no file, and reads the clock only while TLS checks a
// peer's certificate. Of this module it imports only ids and msg.
package pki
