package sasl

import (
	"crypto/rand"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// MechanismGSSAPI is the registered name of the mechanism.
const MechanismGSSAPI = "GSSAPI"

// ErrNotMutual says that the server did not prove its identity.
var ErrNotMutual = errors.New("the server did not prove that it has the key of its kerberos principal")

// Ticket lets a client log in to one service. It is immutable; any number of goroutines may
// use it.
type Ticket struct {
	Client      types.PrincipalName // the owner
	ClientRealm string
	Ticket      messages.Ticket
	Key         types.EncryptionKey // secret: the session key
}

// String names the client and the service. It shows no secret.
func (t *Ticket) String() string {
	return fmt.Sprintf("ticket of %s@%s for %s@%s", t.Client.PrincipalNameString(), t.ClientRealm, t.Ticket.SName.PrincipalNameString(), t.Ticket.Realm)
}

// GSSAPI is the client's side of GSSAPI (RFC 4752 with the tokens of RFC 4121), which Hadoop
// calls KERBEROS. The server must prove its identity. Session keys must be AES keys.
type GSSAPI struct {
	Ticket *Ticket
	// QOPs are the acceptable qualities of protection, best first. None: QOPAuthentication.
	QOPs []QOP

	step          gssStep
	authenticator types.Authenticator
	send, receive gssHalf
	layer         *gssLayer // nil: no protection was agreed
}

// gssStep is the server's next message.
type gssStep int

const (
	gssStart gssStep = iota
	gssReply         // the proof that it could read the ticket
	gssOffer         // its offer of protection
	gssEnd           // its acceptance
)

// The first fields of a token after its length (RFC 4121 §4.1).
var (
	gssMechanism = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02} // 1.2.840.113554.1.2.2
	tokenRequest = [2]byte{0x01, 0x00}
	tokenReply   = [2]byte{0x02, 0x00}
	tokenError   = [2]byte{0x03, 0x00}
)

// Flags of a security context, RFC 4121 §4.1.1.1.
const (
	gssMutual    = 2
	gssReplay    = 4
	gssSequence  = 8
	gssConf      = 16
	gssIntegrity = 32
)

// Start returns the token with the ticket. challenge must be empty, because a server's offer of
// GSSAPI has no challenge.
func (g *GSSAPI) Start(challenge []byte) ([]byte, error) {
	if len(challenge) > 0 || g.step != gssStart {
		return nil, fmt.Errorf("start kerberos login: %w: an unexpected challenge", ErrChallenge)
	}
	if len(g.Ticket.Ticket.SName.NameString) == 0 {
		return nil, fmt.Errorf("start kerberos login: %w: the ticket names no service", ErrChallenge)
	}
	token, err := g.request()
	if err != nil {
		return nil, fmt.Errorf("start kerberos login with %v: %w", g.Ticket, err)
	}
	g.step = gssReply
	return token, nil
}

// request returns AP-REQ (RFC 4120 §3.2.2) with a subkey that only this connection uses.
func (g *GSSAPI) request() ([]byte, error) {
	if _, _, err := profile(g.Ticket.Key); err != nil {
		return nil, err
	}
	var err error
	if g.authenticator, err = types.NewAuthenticator(g.Ticket.ClientRealm, g.Ticket.Client); err != nil {
		return nil, err
	}
	checksum := make([]byte, 24) // no channel binding
	binary.LittleEndian.PutUint32(checksum, 16)
	binary.LittleEndian.PutUint32(checksum[20:], gssMutual|gssReplay|gssSequence|gssConf|gssIntegrity)
	g.authenticator.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: checksum}
	g.authenticator.SubKey = types.EncryptionKey{KeyType: g.Ticket.Key.KeyType, KeyValue: make([]byte, len(g.Ticket.Key.KeyValue))}
	rand.Read(g.authenticator.SubKey.KeyValue) // never fails

	request, err := messages.NewAPReq(g.Ticket.Ticket, g.Ticket.Key, g.authenticator)
	if err != nil {
		return nil, err
	}
	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	body, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	return frameToken(tokenRequest, body)
}

// Next answers the server's proof, and then its offer of protection.
func (g *GSSAPI) Next(challenge []byte) (response []byte, err error) {
	switch g.step {
	case gssReply:
		response, err = []byte{}, g.verify(challenge)
	case gssOffer:
		response, err = g.settle(challenge)
	default:
		err = fmt.Errorf("%w: an unexpected challenge", ErrChallenge)
	}
	if err != nil {
		g.step = gssStart
		return nil, fmt.Errorf("log in with %v: %w", g.Ticket, err)
	}
	g.step++
	return response, nil
}

// verify checks AP-REP (RFC 4120 §3.2.5) and makes the keys of both directions.
func (g *GSSAPI) verify(token []byte) error {
	kind, body, err := unframeToken(token)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotMutual, err)
	}
	switch kind {
	case tokenReply:
	case tokenError:
		var refusal messages.KRBError
		if err := refusal.Unmarshal(body); err != nil {
			return fmt.Errorf("%w: an error that cannot be decoded", ErrNotMutual)
		}
		return fmt.Errorf("%w: %w", ErrNotMutual, refusal)
	default:
		return fmt.Errorf("%w: a token of unexpected kind %x", ErrNotMutual, kind)
	}
	proof, err := openReply(body, g.Ticket.Key)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotMutual, err)
	}
	if proof.CTime.Unix() != g.authenticator.CTime.Unix() || proof.Cusec != g.authenticator.Cusec {
		return fmt.Errorf("%w: it answers a different request", ErrNotMutual)
	}
	key, subkey := g.authenticator.SubKey, byte(0)
	if proof.Subkey.KeyType != 0 {
		key, subkey = proof.Subkey, flagSubkey
	}
	if g.send, err = newGSSHalf(key, subkey, uint32(g.authenticator.SeqNumber)); err != nil {
		return err
	}
	g.receive, err = newGSSHalf(key, subkey|flagAcceptor, uint32(proof.SequenceNumber))
	return err
}

// openReply decrypts AP-REP.
func openReply(body []byte, session types.EncryptionKey) (proof messages.EncAPRepPart, err error) {
	var reply messages.APRep
	if err := reply.Unmarshal(body); err != nil {
		return proof, fmt.Errorf("%w: %w", ErrChallenge, err)
	}
	if reply.EncPart.EType != session.KeyType {
		return proof, fmt.Errorf("%w: encrypted with type %d, not %d", ErrChallenge, reply.EncPart.EType, session.KeyType)
	}
	key, err := newMessageKey(session, keyusage.AP_REP_ENCPART)
	if err != nil {
		return proof, err
	}
	plain, err := key.open(reply.EncPart.Cipher)
	if err != nil {
		return proof, err
	}
	if err := proof.Unmarshal(plain); err != nil {
		return proof, fmt.Errorf("%w: %w", ErrChallenge, err)
	}
	return proof, nil
}

// bit returns the bit of a quality of protection (RFC 4752 §3.3).
func (q QOP) bit() byte {
	switch q {
	case QOPIntegrity:
		return 2
	case QOPPrivacy:
		return 4
	default:
		return 1
	}
}

// settle chooses one of the layers that the server offers (RFC 4752 §3.1).
func (g *GSSAPI) settle(challenge []byte) ([]byte, error) {
	offer, err := g.receive.unwrap(challenge, false)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("%w: an offer of protection with %d bytes", ErrChallenge, len(offer))
	}
	var offered []string
	for _, q := range []QOP{QOPAuthentication, QOPIntegrity, QOPPrivacy} {
		if offer[0]&q.bit() != 0 {
			offered = append(offered, string(q))
		}
	}
	ours := g.QOPs
	if len(ours) == 0 {
		ours = []QOP{QOPAuthentication}
	}
	qop, err := choose(ours, offered)
	if err != nil {
		return nil, err
	}
	answer := make([]byte, 4)
	if qop != QOPAuthentication {
		limit := int(binary.BigEndian.Uint32(offer) & 0xffffff)
		if limit < minBuffer {
			return nil, fmt.Errorf("%w: a message limit of %d bytes", ErrChallenge, limit)
		}
		binary.BigEndian.PutUint32(answer, defaultMaxBuffer)
		g.layer = &gssLayer{sealed: qop == QOPPrivacy, maxMessage: limit - gssOverhead}
	}
	answer[0] = qop.bit()
	return g.send.appendWrap(nil, answer, false)
}

// Finish checks that the server has accepted the login.
func (g *GSSAPI) Finish(token []byte) (Layer, error) {
	if g.step != gssEnd {
		return nil, fmt.Errorf("finish kerberos login: %w: the server reports success before all steps", ErrNotMutual)
	}
	if len(token) > 0 {
		return nil, fmt.Errorf("finish kerberos login: %w: %d unexpected bytes with the success", ErrChallenge, len(token))
	}
	if g.layer == nil {
		return nil, nil
	}
	g.layer.send, g.layer.receive = g.send, g.receive
	return g.layer, nil
}

// frameToken puts a Kerberos message into a token.
func frameToken(kind [2]byte, body []byte) ([]byte, error) {
	content := slices.Concat(gssMechanism, kind[:], body)
	return asn1.Marshal(asn1.RawValue{Class: asn1.ClassApplication, Tag: 0, IsCompound: true, Bytes: content})
}

// unframeToken returns the Kerberos message in a token.
func unframeToken(token []byte) (kind [2]byte, body []byte, err error) {
	var frame asn1.RawValue
	rest, err := asn1.Unmarshal(token, &frame)
	if err != nil {
		return kind, nil, fmt.Errorf("%w: %w", ErrChallenge, err)
	}
	header := len(gssMechanism) + len(kind)
	if len(rest) > 0 || frame.Class != asn1.ClassApplication || frame.Tag != 0 || !frame.IsCompound ||
		len(frame.Bytes) < header || string(frame.Bytes[:len(gssMechanism)]) != string(gssMechanism) {
		return kind, nil, fmt.Errorf("%w: not a kerberos token", ErrChallenge)
	}
	copy(kind[:], frame.Bytes[len(gssMechanism):])
	return kind, frame.Bytes[header:], nil
}
