// Package sasl presents a token or a ticket to a server, and protects the messages after the
// login. It has the SASL mechanisms of Hadoop's clients, and the layers of protection on
// which client and server agree. The caller provides the secret: a token from package creds
// or a ticket from package kerberos. The package asks no KDC and reads no file. It only
// makes and reads the bytes of SASL: packages yarnrpc and hdfs put them into their messages,
// and HTTP clients into headers. Programs that use yarnrpc need only the names of the
// qualities of protection.
//
// The mechanisms are DIGEST-MD5 (RFC 2831), which Hadoop uses with tokens, and GSSAPI (RFC
// 4752) for Kerberos. DigestMD5Server, GSSAPIServer and IssueTicket are the server's side,
// for tests. The package does no I/O, starts no goroutine and imports nothing of this module.
package sasl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrChallenge says that a message of the peer breaks the mechanism's rules.
	ErrChallenge = errors.New("bad sasl message")
	// ErrMismatch says that the peer could not prove that it knows the shared secret.
	ErrMismatch = errors.New("the peer does not know the token's password")
	// ErrProtection says that client and server have no quality of protection in common.
	ErrProtection = errors.New("no common quality of protection")
	// ErrTampered says that the checksum or the sequence number of a message is wrong. Do
	// not trust any later message.
	ErrTampered = errors.New("protected message was changed, lost or repeated")
	// ErrExhausted says that a layer has numbered 2^32 messages in one direction and cannot
	// number more.
	ErrExhausted = errors.New("all sequence numbers are used: log in on another connection")
)

// Mechanism is the client's side of one authentication. One goroutine calls its methods in
// the order Start, Next, Finish.
type Mechanism interface {
	// Start returns the first message. challenge is the challenge in the server's offer, or
	// nil.
	Start(challenge []byte) (response []byte, err error)
	// Next answers one more challenge.
	Next(challenge []byte) (response []byte, err error)
	// Finish checks the token that the server sent with its success. The layer protects all
	// later messages; nil means no protection.
	Finish(token []byte) (Layer, error)
}

// Layer protects messages in both directions. One goroutine at a time may call AppendWrap,
// and one Unwrap. Tokens must be sent in the order of AppendWrap. Neither method allocates,
// unless b has too little capacity. After an error, that direction cannot be used any more.
type Layer interface {
	// AppendWrap adds the protected form of a message of at most MaxMessage bytes to b.
	// message and b must not share memory.
	AppendWrap(b, message []byte) ([]byte, error)
	// Unwrap returns the message in a token of any size. It works in place: the message is a
	// part of the token, and the token's other bytes are overwritten.
	Unwrap(token []byte) ([]byte, error)
	// MaxMessage is the peer's limit for the message in one token, in bytes.
	MaxMessage() int
	// QOP is QOPIntegrity or QOPPrivacy.
	QOP() QOP
}

// QOP is a quality of protection.
type QOP string

const (
	QOPAuthentication QOP = "auth"      // none after the login
	QOPIntegrity      QOP = "auth-int"  // checksums
	QOPPrivacy        QOP = "auth-conf" // encryption and checksums
)

// ParseProtection reads the value of hadoop.rpc.protection or
// dfs.data.transfer.protection: a list of authentication, integrity and privacy
// in order of preference.
func ParseProtection(value string) ([]QOP, error) {
	var qops []QOP
	for name := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "authentication":
			qops = append(qops, QOPAuthentication)
		case "integrity":
			qops = append(qops, QOPIntegrity)
		case "privacy":
			qops = append(qops, QOPPrivacy)
		default:
			return nil, fmt.Errorf("parse protection %q: want authentication, integrity or privacy, separated by commas", value)
		}
	}
	return qops, nil
}

// choose returns the first of ours that the peer offers.
func choose(ours []QOP, offered []string) (QOP, error) {
	for _, q := range ours {
		if slices.Contains(offered, string(q)) {
			return q, nil
		}
	}
	return "", fmt.Errorf("%w: the client accepts %v, the server offers %v (see hadoop.rpc.protection, or dfs.data.transfer.protection of DataNodes)", ErrProtection, ours, offered)
}
