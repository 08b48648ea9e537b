package sasl

import (
	"crypto/rand"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// GSSAPIServer is the server's side of one Kerberos login. Call Next for each of the client's
// messages until it is done, and then Finish with the last of them. It is for tests: it does
// not remember requests, and so accepts a repeated one.
type GSSAPIServer struct {
	// Key is the service's own AES key.
	Key types.EncryptionKey
	// QOPs are the qualities of protection on offer. None: QOPAuthentication.
	QOPs []QOP
	// subkey, if it is set, protects messages in place of the key that the client chose.
	subkey types.EncryptionKey

	step          gssStep
	user          string
	send, receive gssHalf
}

// serverSequence is the first number of the server's messages. The value does not matter.
const serverSequence = 1 << 20

// Next answers one message of the client. If done is true, tell the client that the login has
// succeeded.
func (s *GSSAPIServer) Next(token []byte) (challenge []byte, done bool, err error) {
	switch s.step {
	case gssStart:
		challenge, err = s.accept(token)
	case gssReply:
		if len(token) > 0 {
			err = fmt.Errorf("%w: %d unexpected bytes", ErrChallenge, len(token))
			break
		}
		offer := make([]byte, 4)
		binary.BigEndian.PutUint32(offer, defaultMaxBuffer)
		for _, q := range s.qops() {
			offer[0] |= q.bit()
		}
		challenge, err = s.send.appendWrap(nil, offer, false)
	case gssOffer:
		return nil, true, nil
	default:
		err = fmt.Errorf("%w: an unexpected message", ErrChallenge)
	}
	if err != nil {
		return nil, false, fmt.Errorf("answer kerberos login: %w", err)
	}
	s.step++
	return challenge, false, nil
}

func (s *GSSAPIServer) qops() []QOP {
	if len(s.QOPs) == 0 {
		return []QOP{QOPAuthentication}
	}
	return s.QOPs
}

// Finish reads the client's last message. It returns the client's principal and the agreed
// protection, or nil for none.
func (s *GSSAPIServer) Finish(token []byte) (user string, layer Layer, err error) {
	answer, err := s.receive.unwrap(token, false)
	if err != nil {
		return "", nil, fmt.Errorf("finish kerberos login: %w", err)
	}
	at := slices.IndexFunc(s.qops(), func(q QOP) bool { return len(answer) == 4 && answer[0] == q.bit() })
	if at < 0 {
		return "", nil, fmt.Errorf("finish kerberos login: %w: the client chose %x", ErrProtection, answer)
	}
	if s.qops()[at] == QOPAuthentication {
		return s.user, nil, nil
	}
	limit := int(binary.BigEndian.Uint32(answer) & 0xffffff)
	return s.user, &gssLayer{send: s.send, receive: s.receive, sealed: s.qops()[at] == QOPPrivacy, maxMessage: limit - gssOverhead}, nil
}

// accept reads the ticket and returns the proof that the server could read it.
func (s *GSSAPIServer) accept(token []byte) ([]byte, error) {
	kind, body, err := unframeToken(token)
	if err != nil || kind != tokenRequest {
		return nil, fmt.Errorf("%w: no request", ErrChallenge)
	}
	var request messages.APReq
	if err := request.Unmarshal(body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChallenge, err)
	}
	var ticket messages.EncTicketPart
	if err := openAs(s.Key, keyusage.KDC_REP_TICKET, request.Ticket.EncPart.Cipher, &ticket); err != nil {
		return nil, err
	}
	if time.Now().After(ticket.EndTime) {
		return nil, fmt.Errorf("%w: an expired ticket", ErrChallenge)
	}
	var asked types.Authenticator
	if err := openAs(ticket.Key, keyusage.AP_REQ_AUTHENTICATOR, request.EncryptedAuthenticator.Cipher, &asked); err != nil {
		return nil, err
	}
	if !asked.CName.Equal(ticket.CName) || asked.CRealm != ticket.CRealm {
		return nil, fmt.Errorf("%w: another client's ticket", ErrChallenge)
	}
	s.user = ticket.CName.PrincipalNameString() + "@" + ticket.CRealm
	key, flags := asked.SubKey, byte(0)
	if s.subkey.KeyType != 0 {
		key, flags = s.subkey, flagSubkey
	}
	if s.send, err = newGSSHalf(key, flags|flagAcceptor, serverSequence); err != nil {
		return nil, err
	}
	if s.receive, err = newGSSHalf(key, flags, uint32(asked.SeqNumber)); err != nil {
		return nil, err
	}
	return Reply(ticket.Key, messages.EncAPRepPart{CTime: asked.CTime, Cusec: asked.Cusec, Subkey: s.subkey, SequenceNumber: serverSequence})
}

// ticketPart is the part of a ticket that only the service can read (RFC 4120 §5.3). Package
// asn1 can encode its types.
type ticketPart struct {
	Flags     asn1.BitString             `asn1:"explicit,tag:0"`
	Key       types.EncryptionKey        `asn1:"explicit,tag:1"`
	CRealm    string                     `asn1:"explicit,tag:2"`
	CName     types.PrincipalName        `asn1:"explicit,tag:3"`
	Transited messages.TransitedEncoding `asn1:"explicit,tag:4"`
	AuthTime  time.Time                  `asn1:"generalized,explicit,tag:5"`
	EndTime   time.Time                  `asn1:"generalized,explicit,tag:7"`
}

// IssueTicket makes a ticket for a service that has the key, as a KDC does. It is for tests.
// client and service are names without a realm.
func IssueTicket(client, service, realm string, key types.EncryptionKey, life time.Duration) (*Ticket, error) {
	t := &Ticket{
		Client:      types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, client),
		ClientRealm: realm,
		Ticket:      messages.Ticket{TktVNO: 5, Realm: realm, SName: types.NewPrincipalName(nametype.KRB_NT_SRV_HST, service)},
		Key:         types.EncryptionKey{KeyType: key.KeyType, KeyValue: make([]byte, len(key.KeyValue))},
	}
	rand.Read(t.Key.KeyValue) // never fails
	now := time.Now().UTC()
	plain, err := asn1.MarshalWithParams(ticketPart{
		Flags: asn1.BitString{Bytes: make([]byte, 4), BitLength: 32}, Key: t.Key,
		CRealm: realm, CName: t.Client, AuthTime: now, EndTime: now.Add(life),
	}, fmt.Sprintf("application,explicit,tag:%d", asnAppTag.EncTicketPart))
	if err != nil {
		return nil, fmt.Errorf("issue %v: %w", t, err)
	}
	sealing, err := newMessageKey(key, keyusage.KDC_REP_TICKET)
	if err != nil {
		return nil, fmt.Errorf("issue %v: %w", t, err)
	}
	t.Ticket.EncPart = types.EncryptedData{EType: key.KeyType, KVNO: 1, Cipher: sealing.seal(nil, plain)}
	return t, nil
}

// openAs decrypts and decodes a part of a message.
func openAs(key types.EncryptionKey, usage uint32, sealed []byte, into interface{ Unmarshal(b []byte) error }) error {
	derived, err := newMessageKey(key, usage)
	if err != nil {
		return err
	}
	plain, err := derived.open(sealed)
	if err != nil {
		return err
	}
	if err := into.Unmarshal(plain); err != nil {
		return fmt.Errorf("%w: %w", ErrChallenge, err)
	}
	return nil
}

// Reply returns the token with AP-REP (RFC 4121 §4.1). With it, a service proves that it
// could read a ticket: it repeats the time of the client's authenticator, encrypted with the
// ticket's session key. The error is ErrEncryptionType if the key is not an AES key.
func Reply(key types.EncryptionKey, proof messages.EncAPRepPart) ([]byte, error) {
	plain, err := asn1.MarshalWithParams(proof, fmt.Sprintf("application,explicit,tag:%d", asnAppTag.EncAPRepPart))
	if err != nil {
		return nil, err
	}
	derived, err := newMessageKey(key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return nil, err
	}
	body, err := asn1.MarshalWithParams(messages.APRep{
		PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: types.EncryptedData{EType: key.KeyType, Cipher: derived.seal(nil, plain)},
	}, fmt.Sprintf("application,explicit,tag:%d", asnAppTag.APREP))
	if err != nil {
		return nil, err
	}
	return frameToken(tokenReply, body)
}
