// Package sasl shows a token or a ticket to a server, and protects what follows: it has the
// mechanisms by which Hadoop's clients authenticate, and the layers that client and server
// may agree on. It is given the secret: tokens come from package creds, tickets from
// package kerberos, and the package asks no KDC and reads no file. It makes and reads bytes:
// the messages that carry them are yarnrpc's, those of data transfer hdfs', and the
// headers of HTTP their users'. Programs that use yarnrpc need none of it but the names of
// the qualities of protection.
//
// There are DIGEST-MD5 (RFC 2831), which Hadoop uses with tokens, and GSSAPI (RFC 4752)
// for Kerberos. DigestMD5Server, GSSAPIServer and IssueTicket are the other side, for tests.
// The package does no I/O, starts no goroutine and imports nothing of ours.
package sasl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrChallenge is in the error for a message of the peer that breaks the
	// mechanism's rules.
	ErrChallenge = errors.New("bad sasl message")
	// ErrMismatch is in the error for a peer that could not prove that it knows the
	// shared secret.
	ErrMismatch = errors.New("the peer does not know the token's password")
	// ErrProtection is in the error where client and server have no quality of
	// protection in common.
	ErrProtection = errors.New("no common quality of protection")
	// ErrTampered is in the error for a message whose checksum or place in the
	// sequence is wrong. Nothing after it can be trusted.
	ErrTampered = errors.New("protected message was changed, lost or repeated")
	// ErrExhausted is in the error for a message beyond the 2^32 that a layer can number
	// in each direction.
	ErrExhausted = errors.New("all numbers of protected messages are used: log in on another connection")
)

// Mechanism is the client's side of one authentication. Its methods are called in
// the order they stand, by one goroutine.
type Mechanism interface {
	// Start gives the first message. challenge is what the server sent along with
	// its offer, or nil.
	Start(challenge []byte) (response []byte, err error)
	// Next answers one more challenge.
	Next(challenge []byte) (response []byte, err error)
	// Finish checks what the server sent with its success. The layer protects
	// everything from then on; nil means no protection.
	Finish(token []byte) (Layer, error)
}

// Layer protects messages in both directions. AppendWrap and Unwrap may each be used by
// one goroutine at a time; the order of AppendWrap is the order on the wire. Neither
// allocates, but for a b that is too short. After an error its direction is of no further
// use.
type Layer interface {
	// AppendWrap adds the protected form of a message of at most MaxMessage bytes to b,
	// with which the message shares none.
	AppendWrap(b, message []byte) ([]byte, error)
	// Unwrap gives the message in a token, of whatever size. It works in place: the message
	// is a part of the token, whose other bytes are lost.
	Unwrap(token []byte) ([]byte, error)
	// MaxMessage is what the peer lets one token hold, in bytes.
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

// choose gives the first of ours that the peer offers.
func choose(ours []QOP, offered []string) (QOP, error) {
	for _, q := range ours {
		if slices.Contains(offered, string(q)) {
			return q, nil
		}
	}
	return "", fmt.Errorf("%w: ours %v, the server's %v (see hadoop.rpc.protection, or dfs.data.transfer.protection of DataNodes)", ErrProtection, ours, offered)
}
