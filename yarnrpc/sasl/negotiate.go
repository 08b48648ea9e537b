package sasl

import "encoding/base64"

// Negotiate is the value of the Authorization header by which an HTTP client shows the ticket
// (RFC 4559 §4.2): a token of Kerberos alone, as Hadoop's own client has it
// (KerberosAuthenticator). Each request needs one of its own.
func (t *Ticket) Negotiate() (string, error) {
	token, err := (&GSSAPI{Ticket: t}).Start(nil)
	if err != nil {
		return "", err
	}
	return "Negotiate " + base64.StdEncoding.EncodeToString(token), nil
}
