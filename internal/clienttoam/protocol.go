package clienttoam

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Scheme is the authentication scheme in Authorization and WWW-Authenticate.
const Scheme = "ClientToAM"

// AnswerHeader holds the ApplicationMaster's proof; RFC 7615 §3.
const AnswerHeader = "Authentication-Info"

// The label and the length of the exported keying material (RFC 5705 §4).
const (
	exportLabel = "EXPORTER-bobbin-clienttoam"
	exportSize  = sha256.Size
)

// side says which end made a proof, so that neither end's proof passes as the other's.
type side string

const (
	client side = "client"
	server side = "server"
)

// errConnection says that no proof can be bound to a connection.
var errConnection = errors.New("proofs need a TLS 1.3 connection")

// prove makes one side's proof for a connection.
func prove(password []byte, by side, on *tls.ConnectionState) ([]byte, error) {
	if on == nil || on.Version != tls.VersionTLS13 {
		return nil, errConnection
	}
	exported, err := on.ExportKeyingMaterial(exportLabel, nil, exportSize)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConnection, err)
	}
	mac := hmac.New(sha256.New, password)
	mac.Write([]byte(by))
	mac.Write(exported)
	return mac.Sum(nil), nil
}

// credentials are the content of a client's Authorization header.
type credentials struct {
	identifier []byte
	proof      []byte
}

const (
	tokenParam = "token="
	proofParam = "proof="
)

// errCredentials says that a header does not have the form of the scheme.
var errCredentials = errors.New("want \"" + Scheme + " " + tokenParam + "…, " + proofParam + "…\"")

func (c credentials) header() string {
	return Scheme + " " + tokenParam + encode(c.identifier) + ", " + proofParam + encode(c.proof)
}

func parseCredentials(header string) (credentials, error) {
	scheme, params, _ := strings.Cut(header, " ")
	token, proof, both := strings.Cut(params, ", ")
	if !strings.EqualFold(scheme, Scheme) || !both {
		return credentials{}, errCredentials
	}
	var c credentials
	var err error
	if c.identifier, err = decode(token, tokenParam); err != nil {
		return credentials{}, err
	}
	if c.proof, err = decode(proof, proofParam); err != nil {
		return credentials{}, err
	}
	return c, nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(param, name string) ([]byte, error) {
	text, named := strings.CutPrefix(param, name)
	value, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !named || err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips these
		return nil, errCredentials
	}
	return value, nil
}
