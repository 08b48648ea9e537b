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

// Scheme is the name of the scheme in Authorization and WWW-Authenticate.
const Scheme = "ClientToAM"

// AnswerHeader holds the ApplicationMaster's proof; RFC 7615 §3.
const AnswerHeader = "Authentication-Info"

// The label and the length of what TLS exports; RFC 5705 §4.
const (
	exportLabel = "EXPORTER-bobbin-clienttoam"
	exportSize  = sha256.Size
)

// side says whose proof it is, so that none can be sent back as the other's.
type side string

const (
	client side = "client"
	server side = "server"
)

// errConnection says that a connection is none that a proof can be bound to.
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

// credentials are what a client sends as Authorization.
type credentials struct {
	identifier []byte
	proof      []byte
}

const (
	tokenParam = "token="
	proofParam = "proof="
)

// errCredentials says that a header is not as the scheme wants it.
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
	if !named || err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return nil, errCredentials
	}
	return value, nil
}
