// Package kdctest has a KDC for tests. It speaks RFC 4120 over TCP to one user, alice of
// realm A, and gives her a ticket for any service, in each of the realms A, B and C. Services
// with ServiceKey can read those tickets. A test can change the KDC's answers.
//
// A KDC has a goroutine for its listener and one for each connection; Close waits for all.
// Only tests import the package. It imports neither package kerberos, whose tests use it, nor
// package testing.
package kdctest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

const (
	// Alice is the only user.
	Alice = user + "@" + realm
	// KeyType is the encryption type of all keys: aes256-cts-hmac-sha1-96.
	KeyType = 18

	user, realm = "alice", "A"

	// maxRequest bounds a client's request, in bytes.
	maxRequest = 1 << 20
)

// AlicesKey is the key that alice and the KDC share.
func AlicesKey() types.EncryptionKey { return key(1) }

// SessionKey is the session key in every ticket for a KDC.
func SessionKey() types.EncryptionKey { return key(2) }

// ServiceKey is the key that all services and the KDC share.
func ServiceKey() types.EncryptionKey { return key(9) }

func key(fill byte) types.EncryptionKey {
	return types.EncryptionKey{KeyType: KeyType, KeyValue: bytes.Repeat([]byte{fill}, 32)}
}

// Keytab returns a keytab file with alice's key.
func Keytab() ([]byte, error) {
	keys := keytab.New()
	if err := keys.AddEntry(user, realm, "unused", time.Now(), 1, KeyType); err != nil {
		return nil, err
	}
	keys.Entries[0].Key = AlicesKey()
	return keys.Marshal()
}

// KDC is a KDC for all realms. Set its fields before Start, or with Change.
type KDC struct {
	// Life is how long tickets are valid.
	Life time.Duration
	// Clock returns the KDC's time. Nil: time.Now.
	Clock func() time.Time
	// Refuse returns the error code for a request for a ticket for service; 0 grants the
	// ticket. Nil: all are granted.
	Refuse func(service string) (code int32)
	// Spoil changes an answer before it is encrypted. Nil: no change.
	Spoil func(reply *messages.KDCRepFields, part *messages.EncKDCRepPart)
	// Bytes changes the bytes of an answer, with its length before it. If it returns nil, no
	// answer is sent. Nil: no change.
	Bytes func(framed []byte) []byte

	listener net.Listener
	tasks    sync.WaitGroup

	mu     sync.Mutex // guards what follows, and the fields above once there are requests
	asked  []string   // services, with the realm that was asked
	failed []error
}

// Start listens on a port of this machine, and serves until Close.
func (k *KDC) Start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k.listener = listener
	k.tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			k.tasks.Go(func() {
				defer conn.Close()
				if err := k.serve(conn); err != nil {
					k.Change(func() { k.failed = append(k.failed, err) })
				}
			})
		}
	})
	return nil
}

// Close ends the KDC after its clients have left. The error lists requests that no client may
// send.
func (k *KDC) Close() error {
	k.listener.Close() // ends the tasks
	k.tasks.Wait()
	return errors.Join(k.failed...)
}

// Conf returns a krb5.conf for the KDC's clients.
func (k *KDC) Conf() []byte {
	text := []byte("[libdefaults]\ndefault_realm = " + realm + "\n[domain_realm]\nb = B\n[realms]\n")
	for _, name := range []string{realm, "B", "C"} {
		text = fmt.Appendf(text, "%s = {\nkdc = %s\n}\n", name, k.listener.Addr())
	}
	return text
}

// Change sets fields between two requests.
func (k *KDC) Change(set func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	set()
}

// Asked returns the services for which tickets were requested, with the realm of the KDC.
func (k *KDC) Asked() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.asked, ", ")
}

func (k *KDC) serve(conn net.Conn) error {
	request := read(conn)
	if request == nil {
		return nil
	}
	reply, err := k.Answer(request)
	if err != nil {
		return err
	}
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...)
	k.mu.Lock()
	change := k.Bytes
	k.mu.Unlock()
	if change != nil {
		framed = change(framed)
	}
	_, _ = conn.Write(framed) // the client may have hung up
	return nil
}

// read returns a request without its length. It returns nil if the client has left or sends
// too much.
func read(conn net.Conn) []byte {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxRequest {
		return nil
	}
	request := make([]byte, n)
	if _, err := io.ReadFull(conn, request); err != nil {
		return nil
	}
	return request
}

// Answer returns the answer to one request, without its length.
func (k *KDC) Answer(request []byte) ([]byte, error) {
	var as messages.ASReq
	if as.Unmarshal(request) == nil {
		reply, refusal, err := k.reply(as.ReqBody, AlicesKey(), keyusage.AS_REP_ENCPART)
		if refusal != nil || err != nil {
			return refusal, err
		}
		reply.PVNO, reply.MsgType = 5, 11
		return (&messages.ASRep{KDCRepFields: reply}).Marshal()
	}
	var tgs messages.TGSReq
	if err := tgs.Unmarshal(request); err != nil {
		return nil, err
	}
	if err := presentsItselfAsAlice(tgs.PAData); err != nil {
		return nil, err
	}
	reply, refusal, err := k.reply(tgs.ReqBody, SessionKey(), keyusage.TGS_REP_ENCPART_SESSION_KEY)
	if refusal != nil || err != nil {
		return refusal, err
	}
	reply.PVNO, reply.MsgType = 5, 13
	return (&messages.TGSRep{KDCRepFields: reply}).Marshal()
}

// presentsItselfAsAlice checks a request's proof. It must name the client's own realm,
// whatever realm receives it.
func presentsItselfAsAlice(data types.PADataSequence) error {
	var request messages.APReq
	if len(data) != 1 {
		return fmt.Errorf("%d proofs", len(data))
	}
	if err := request.Unmarshal(data[0].PADataValue); err != nil {
		return err
	}
	if err := request.DecryptAuthenticator(SessionKey()); err != nil {
		return err
	}
	who := request.Authenticator
	if got := who.CName.PrincipalNameString() + "@" + who.CRealm; got != Alice {
		return fmt.Errorf("the request is %s's", got)
	}
	return nil
}

// reply returns the answer to a request, or the bytes of a refusal.
func (k *KDC) reply(body messages.KDCReqBody, with types.EncryptionKey, usage uint32) (reply messages.KDCRepFields, refusal []byte, err error) {
	service := body.SName.PrincipalNameString()
	k.mu.Lock()
	k.asked = append(k.asked, service+" at "+body.Realm)
	clock, refuse, spoil, life := k.Clock, k.Refuse, k.Spoil, k.Life
	k.mu.Unlock()
	if clock == nil {
		clock = time.Now
	}
	now := clock().UTC()
	if refuse != nil {
		if code := refuse(service); code != 0 {
			refused := messages.NewKRBError(body.SName, body.Realm, code, "")
			refused.STime, refused.Susec = now.Truncate(time.Second), now.Nanosecond()/1000
			refusal, err = refused.Marshal()
			return reply, refusal, err
		}
	}
	reply = messages.KDCRepFields{
		CRealm: realm, CName: types.PrincipalName{NameType: 1, NameString: []string{user}},
		Ticket: messages.Ticket{TktVNO: 5, Realm: body.Realm, SName: body.SName, EncPart: types.EncryptedData{EType: KeyType, Cipher: []byte("secret")}},
	}
	part := messages.EncKDCRepPart{
		Key: SessionKey(), LastReqs: []messages.LastReq{}, Nonce: body.Nonce, Flags: types.NewKrbFlags(), AuthTime: now, StartTime: now,
		EndTime: now.Add(life), SRealm: body.Realm, SName: body.SName,
	}
	if spoil != nil {
		spoil(&reply, &part)
	}
	if !strings.HasPrefix(part.SName.PrincipalNameString(), "krbtgt/") {
		issued, err := sasl.IssueTicket(user, service, realm, ServiceKey(), life)
		if err != nil {
			return reply, nil, err
		}
		reply.Ticket.EncPart, part.Key = issued.Ticket.EncPart, issued.Key
	}
	plain, err := part.Marshal()
	if err != nil {
		return reply, nil, err
	}
	if reply.EncPart.EType == 0 { // not spoilt
		reply.EncPart, err = crypto.GetEncryptedData(plain, with, usage, 1)
	}
	return reply, nil, err
}
