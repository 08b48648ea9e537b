package yarnrpc

import "github.com/bobbin-yarn/bobbin/yarnrpc/sasl"

// Security describes the login and protection of a connection.
type Security struct {
	// Method is the client's login: SIMPLE (none), TOKEN or KERBEROS
	// (SaslRpcServer.AuthMethod).
	Method string
	// Server is the principal that the server has proved, only for KERBEROS. With TOKEN
	// the server has proved that it knows the token's password.
	Server string
	// QOP is the protection of all calls and answers.
	QOP sasl.QOP
}
