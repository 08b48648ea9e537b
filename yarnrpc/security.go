package yarnrpc

import "github.com/bobbin-yarn/bobbin/yarnrpc/sasl"

// Security is how a connection was opened.
type Security struct {
	// Method is how the client has logged in: SIMPLE, which is not at all, TOKEN or
	// KERBEROS (SaslRpcServer.AuthMethod).
	Method string
	// Server is the principal that the server has proved to be; empty but for KERBEROS.
	// After TOKEN it has proved to know the token's password.
	Server string
	// QOP is what protects all calls and answers.
	QOP sasl.QOP
}
