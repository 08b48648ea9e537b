// Package spnego accepts Kerberos tickets for an HTTP service (RFC 4559). It implements the Negotiator of
// package rest. gokrb5 decodes and decrypts. This package adds what gokrb5 leaves out: it checks that the
// client's realm is the ticket's, it accepts no request twice, and it gives the service's own proof.
//
// It starts no goroutine. Of Bobbin's packages it imports only yarnrpc's kerberos, sasl and secretfile.
package spnego

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

var (
	// ErrNoKey says that a keytab has no key of the service.
	ErrNoKey = errors.New("keytab has no key of the principal")
	// ErrRefused says that a client's token is not a ticket for the service, or is not valid any more, for
	// example because it was used before.
	ErrRefused = errors.New("refused the Kerberos ticket")
)

const (
	// clockSkew is how far the clocks of client and service may differ; RFC 4120 §8.2 recommends it.
	clockSkew = 5 * time.Minute
	// maxKeytab bounds a keytab, in bytes; one with a hundred keys has 10 KiB.
	maxKeytab = 1 << 20
)

// Service accepts tickets for one principal. It may be used from any goroutine.
type Service struct {
	name    types.PrincipalName
	realm   string // "": any realm that the keytab has keys of
	keys    *keytab.Keytab
	replays *replays
}

// Load reads the keys of a principal, "HTTP/host@REALM", from a keytab. Without a realm in the principal,
// keys of any realm count. _HOST in the principal stands for the given host's name. Load reads the file
// once. Everyone who can read the keytab can forge tickets of any user, so Load returns
// secretfile.ErrExposed if other users than this one can read it.
func Load(path, principal, host string) (*Service, error) {
	principal = strings.Replace(principal, "_HOST", strings.ToLower(host), 1)
	content, err := readKeytab(path)
	if err != nil {
		return nil, fmt.Errorf("read keytab %s: %w", path, err)
	}
	held, err := kerberos.ParseKeytab(path, content)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(held.Principals(), func(p kerberos.Principal) bool {
		return p.String() == principal || p.Name() == principal
	}) {
		return nil, fmt.Errorf("read keytab %s: %w %s: it has keys of %v", path, ErrNoKey, principal, held.Principals())
	}
	s := &Service{keys: keytab.New(), replays: newReplays()}
	if err := s.keys.Unmarshal(content); err != nil {
		return nil, fmt.Errorf("read keytab %s: it is damaged", path) // gokrb5's error could show keys
	}
	s.name, s.realm = types.ParseSPNString(principal)
	return s, nil
}

func readKeytab(path string) ([]byte, error) {
	file, err := secretfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // read only: nothing to lose
	content, err := io.ReadAll(io.LimitReader(file, maxKeytab+1))
	if err == nil && len(content) > maxKeytab {
		err = fmt.Errorf("it has more than %d bytes", maxKeytab)
	}
	return content, err
}

// Ticket is a ticket whose client has proven to hold it. Once reports whether the proof is new.
type Ticket struct {
	Client  string // principal
	Service string // the principal whose key has opened it
	Answer  []byte // for the client, in the form of its request; nil: the client expects none

	proof digest
}

// Accept returns the ticket in a token, which is SPNEGO's or Kerberos' own (RFC 4178, RFC 4121). Errors
// wrap ErrRefused.
func (s *Service) Accept(token []byte) (Ticket, error) {
	request, wrapped, err := unwrap(token)
	if err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(request.Ticket.SName.NameString) == 0 {
		return Ticket{}, fmt.Errorf("%w: it names no service", ErrRefused)
	}
	if s.realm != "" && request.Ticket.Realm != s.realm { // the ticket's realm says which key encrypts it
		return Ticket{}, fmt.Errorf("%w: it is of realm %s, and the service is of realm %s", ErrRefused, request.Ticket.Realm, s.realm)
	}
	// Tickets that are bound to addresses are refused, as no address is given.
	if _, err := request.Verify(s.keys, clockSkew, types.HostAddress{}, &s.name); err != nil {
		return Ticket{}, fmt.Errorf("%w: for service %s: %w", ErrRefused, s.name.PrincipalNameString(), err)
	}
	part := request.Ticket.DecryptedEncPart
	if request.Authenticator.CRealm != part.CRealm {
		return Ticket{}, fmt.Errorf("%w: its client is of realm %s, and its authenticator of realm %s", ErrRefused, part.CRealm, request.Authenticator.CRealm)
	}
	answer, err := answerTo(request, wrapped)
	if err != nil {
		return Ticket{}, fmt.Errorf("answer Kerberos ticket: %w", err)
	}
	return Ticket{
		Client: part.CName.PrincipalNameString() + "@" + part.CRealm,
		// The name of the service in the ticket is not encrypted: the key that decrypts the ticket proves
		// the name.
		Service: s.name.PrincipalNameString() + "@" + request.Ticket.Realm,
		Answer:  answer,
		proof:   sha256.Sum256(request.EncryptedAuthenticator.Cipher),
	}, nil
}

// Once remembers that a ticket lets a user in, by whatever name. It returns ErrRefused if the ticket has
// done so before with the same proof, or if there is no room to remember it. Call it last, and only for a
// user who has a right, so that other users fill no memory.
func (s *Service) Once(user string, t Ticket) error {
	return s.replays.first(user, t.proof, time.Now())
}

// unwrap finds the request with the ticket. wrapped reports whether it is in an SPNEGO token.
func unwrap(token []byte) (request *messages.APReq, wrapped bool, err error) {
	var outer spnego.SPNEGOToken
	if outer.Unmarshal(token) == nil {
		if !outer.Init {
			return nil, false, errors.New("it is not the client's first SPNEGO token")
		}
		token, wrapped = outer.NegTokenInit.MechTokenBytes, true
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(token); err != nil {
		return nil, false, err
	}
	if !inner.IsAPReq() {
		return nil, false, errors.New("the token holds no Kerberos ticket")
	}
	return &inner.APReq, wrapped, nil
}

// answerTo makes the answer that lets the client in. If the client asks for it, the answer proves the
// service: Hadoop's client (AuthenticatedURL) and others do not continue without that proof. Without an AES
// key there is no proof.
func answerTo(request *messages.APReq, wrapped bool) (answer []byte, err error) {
	if request.APOptions.At(flags.APOptionMutualRequired) == 1 {
		asked := request.Authenticator
		answer, err = sasl.Reply(request.Ticket.DecryptedEncPart.Key, messages.EncAPRepPart{CTime: asked.CTime, Cusec: asked.Cusec})
		if err != nil && !errors.Is(err, sasl.ErrEncryptionType) {
			return nil, err
		}
	}
	if !wrapped {
		return answer, nil
	}
	accepted := spnego.NegTokenResp{NegState: 0, SupportedMech: gssapi.OIDKRB5.OID(), ResponseToken: answer} // accept-completed
	return accepted.Marshal()
}
