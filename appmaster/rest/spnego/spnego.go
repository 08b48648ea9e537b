// Package spnego accepts tickets of Kerberos for a service that answers HTTP
// (RFC 4559): the Negotiator of package rest. Decoding and decryption are
// gokrb5's. What it leaves out is here: that the client's realm is the
// ticket's, that no request is taken twice, and the service's own proof.
//
// It starts no goroutine, and imports of ours yarnrpc's kerberos, sasl and secretfile.
package spnego

import (
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
	// ErrRefused says that a client's token is no ticket for the service, or is
	// worth nothing any more.
	ErrRefused = errors.New("ticket of Kerberos is refused")
)

const (
	// clockSkew is how far clocks may differ; RFC 4120 §8.2 recommends it.
	clockSkew = 5 * time.Minute
	// maxKeytab bounds a keytab, in bytes; one with a hundred keys has 10 KiB.
	maxKeytab = 1 << 20
)

// Service accepts tickets for one principal. It may be used from any goroutine.
type Service struct {
	name    types.PrincipalName
	realm   string // "": any that keys are of
	keys    *keytab.Keytab
	replays *replays
}

// Load reads the keys of a principal, "HTTP/host@REALM", from a keytab; without
// a realm, of whatever realm they are. In the principal _HOST stands for the
// given host's name. The file is read once. Whoever else can read it lets himself
// in as whom he likes: one that is not this user's alone is secretfile.ErrExposed.
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

// Accept gives the principal whose ticket a token holds, as SPNEGO or Kerberos
// alone (RFC 4178, RFC 4121), the principal whose key has opened it, and the token that
// answers it in the same form; nil where the client expects none. Errors are ErrRefused.
func (s *Service) Accept(token []byte) (client, service string, answer []byte, err error) {
	request, wrapped, err := unwrap(token)
	if err != nil {
		return "", "", nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(request.Ticket.SName.NameString) == 0 {
		return "", "", nil, fmt.Errorf("%w: it names no service", ErrRefused)
	}
	if s.realm != "" && request.Ticket.Realm != s.realm { // which says whose key it is sealed with
		return "", "", nil, fmt.Errorf("%w: it is of realm %s, and the service of %s", ErrRefused, request.Ticket.Realm, s.realm)
	}
	// Tickets that are bound to addresses are refused, as no address is given.
	if _, err := request.Verify(s.keys, clockSkew, types.HostAddress{}, &s.name); err != nil {
		return "", "", nil, fmt.Errorf("%w: for service %s: %w", ErrRefused, s.name.PrincipalNameString(), err)
	}
	part := request.Ticket.DecryptedEncPart
	if request.Authenticator.CRealm != part.CRealm {
		return "", "", nil, fmt.Errorf("%w: a ticket of realm %s in the name of %s", ErrRefused, part.CRealm, request.Authenticator.CRealm)
	}
	client = part.CName.PrincipalNameString() + "@" + part.CRealm
	if err := s.replays.first(client, request.EncryptedAuthenticator.Cipher, time.Now()); err != nil {
		return "", "", nil, err
	}
	if answer, err = answerTo(request, wrapped); err != nil {
		return "", "", nil, fmt.Errorf("answer ticket of Kerberos: %w", err)
	}
	// What the ticket calls the service is not sealed: the key tells.
	service = s.name.PrincipalNameString() + "@" + request.Ticket.Realm
	return client, service, answer, nil
}

// unwrap finds the request with the ticket. wrapped: it is in a token of SPNEGO.
func unwrap(token []byte) (request *messages.APReq, wrapped bool, err error) {
	var outer spnego.SPNEGOToken
	if outer.Unmarshal(token) == nil {
		if !outer.Init {
			return nil, false, errors.New("it is not the first token")
		}
		token, wrapped = outer.NegTokenInit.MechTokenBytes, true
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(token); err != nil {
		return nil, false, err
	}
	if !inner.IsAPReq() {
		return nil, false, errors.New("it holds no ticket")
	}
	return &inner.APReq, wrapped, nil
}

// answerTo says that the client is let in, and proves the service to one that asks for that: Hadoop's
// (AuthenticatedURL) and others do not go on without. Without a key of AES there is no proof.
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
