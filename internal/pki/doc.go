// Package pki makes and checks the certificates by which Bobbin's processes know
// each other. The ApplicationMaster makes an Authority when it starts; it issues
// one certificate for itself, one for REST and one for each TaskExecutor, which
// issues one for each of its task hosts:
//
//	authority ─┬─ bobbin:<application>/am
//	           ├─ bobbin:<application>/rest
//	           └─ bobbin:<application>/te/<container>
//	               └─ bobbin:<application>/host/<job>/<container>
//
// A process is known by the URI in its certificate and by who issued it, never
// by a host name: containers share nodes and nodes have many names. All
// connections are TLS 1.3 and, but for REST, mutual.
//
// The package starts no goroutine, reads no clock but while TLS checks a peer's
// certificate, writes no file and imports of ours only ids and msg.
package pki
