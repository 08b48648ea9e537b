package kerberos

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

const kind = 18 // aes256-cts-hmac-sha1-96

var (
	alicesKey  = types.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{1}, 32)}
	sessionKey = types.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{2}, 32)}
)

// fakeKDC answers for all realms. What it says can be spoilt before it is encrypted, and
// the bytes after.
type fakeKDC struct {
	spoil func(reply *messages.KDCRepFields, part *messages.EncKDCRepPart)
	bytes func([]byte) []byte
	life  time.Duration

	mu    sync.Mutex // guards asked, and the functions once there are requests
	asked []string   // services, with the realm that was asked
}

// listen serves until the test ends and gives a configuration with the KDC in each realm.
func (k *fakeKDC) listen(t *testing.T) *Config {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer conn.Close()
				k.serve(t, conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close() // ends the tasks
		tasks.Wait()
	})
	text := "[libdefaults]\ndefault_realm = A\n[domain_realm]\nb = B\n[realms]\n"
	for _, realm := range []string{"A", "B", "C"} {
		text += fmt.Sprintf("%s = {\nkdc = %s\n}\n", realm, listener.Addr())
	}
	conf, err := ParseConfig("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func (k *fakeKDC) serve(t *testing.T, conn net.Conn) {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return
	}
	request := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(conn, request); err != nil {
		return
	}
	reply, err := k.answer(request)
	if err != nil {
		t.Error(err)
		return
	}
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...)
	k.mu.Lock()
	change := k.bytes
	k.mu.Unlock()
	if change != nil {
		framed = change(framed)
	}
	conn.Write(framed) // the client may have hung up
}

func (k *fakeKDC) answer(request []byte) ([]byte, error) {
	var as messages.ASReq
	if as.Unmarshal(request) == nil {
		reply, err := k.reply(as.ReqBody, alicesKey, keyusage.AS_REP_ENCPART)
		if err != nil {
			return nil, err
		}
		return (&messages.ASRep{KDCRepFields: messages.KDCRepFields{
			PVNO: 5, MsgType: 11, CRealm: reply.CRealm, CName: reply.CName, Ticket: reply.Ticket, EncPart: reply.EncPart,
		}}).Marshal()
	}
	var tgs messages.TGSReq
	if err := tgs.Unmarshal(request); err != nil {
		return nil, err
	}
	if err := presentsItselfAsAlice(tgs.PAData); err != nil {
		return nil, err
	}
	reply, err := k.reply(tgs.ReqBody, sessionKey, keyusage.TGS_REP_ENCPART_SESSION_KEY)
	if err != nil {
		return nil, err
	}
	return (&messages.TGSRep{KDCRepFields: messages.KDCRepFields{
		PVNO: 5, MsgType: 13, CRealm: reply.CRealm, CName: reply.CName, Ticket: reply.Ticket, EncPart: reply.EncPart,
	}}).Marshal()
}

// presentsItselfAsAlice checks a request's proof: it must name the client's realm in whatever
// realm it is shown.
func presentsItselfAsAlice(data types.PADataSequence) error {
	var request messages.APReq
	if len(data) != 1 {
		return fmt.Errorf("%d proofs", len(data))
	}
	if err := request.Unmarshal(data[0].PADataValue); err != nil {
		return err
	}
	if err := request.DecryptAuthenticator(sessionKey); err != nil {
		return err
	}
	if got := (name{request.Authenticator.CName, request.Authenticator.CRealm}).String(); got != "alice@A" {
		return fmt.Errorf("the request is %s's", got)
	}
	return nil
}

func (k *fakeKDC) reply(body messages.KDCReqBody, key types.EncryptionKey, usage uint32) (messages.KDCRepFields, error) {
	k.mu.Lock()
	k.asked = append(k.asked, body.SName.PrincipalNameString()+" at "+body.Realm)
	spoil := k.spoil
	k.mu.Unlock()
	now := time.Now().UTC()
	reply := messages.KDCRepFields{
		CRealm: "A", CName: types.PrincipalName{NameType: 1, NameString: []string{"alice"}},
		Ticket: messages.Ticket{TktVNO: 5, Realm: body.Realm, SName: body.SName, EncPart: types.EncryptedData{EType: kind, Cipher: []byte("secret")}},
	}
	part := messages.EncKDCRepPart{
		Key: sessionKey, LastReqs: []messages.LastReq{}, Nonce: body.Nonce, Flags: types.NewKrbFlags(), AuthTime: now, StartTime: now,
		EndTime: now.Add(k.life), SRealm: body.Realm, SName: body.SName,
	}
	if spoil != nil {
		spoil(&reply, &part)
	}
	plain, err := part.Marshal()
	if err != nil {
		return reply, err
	}
	if reply.EncPart.EType == 0 { // not spoilt
		reply.EncPart, err = crypto.GetEncryptedData(plain, key, usage, 1)
	}
	return reply, err
}

// log is what was asked for.
func (k *fakeKDC) log() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.asked, ", ")
}

// alice has a keytab with her key.
func alice(t *testing.T, conf *Config) *Login {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	keys := keytab.New()
	if err := keys.AddEntry("alice", "A", "unused", time.Now(), 1, kind); err != nil {
		t.Fatal(err)
	}
	keys.Entries[0].Key = alicesKey
	b, err := keys.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := FromKeytab(conf, "alice", path)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

func TestATicketIsAskedForOnce(t *testing.T) {
	kdc := &fakeKDC{life: time.Hour}
	login := alice(t, kdc.listen(t))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			ticket, err := login.Ticket(t.Context(), "rm/host@A")
			if err != nil || ticket.String() != "ticket of alice@A for rm/host@A" {
				t.Errorf("got %v, %v", ticket, err)
			}
		})
	}
	all.Wait()
	if got := kdc.log(); got != "krbtgt/A at A, rm/host at A" {
		t.Errorf("the kdc was asked for %s", got)
	}
	login.Forget("rm/host@A")
	if _, err := login.Ticket(t.Context(), "rm/host@A"); err != nil || kdc.log() != "krbtgt/A at A, rm/host at A, rm/host at A" {
		t.Errorf("forgotten and wanted again: %v, asked for %s", err, kdc.log())
	}
}

// A ticket of another realm is got by way of that realm's KDC, and where the client does not
// know the realm, or there is none straight way, by the KDC's word.
func TestServicesOfOtherRealms(t *testing.T) {
	for service, want := range map[string]string{
		"rm/b":      "krbtgt/B at A, rm/b at B",
		"rm/host@B": "krbtgt/B at A, rm/host at B",
		"rm/moved":  "rm/moved at A, rm/moved at C",
		"rm/far@C":  "krbtgt/C at A, rm/far at B, rm/far at C",
	} {
		kdc := &fakeKDC{life: time.Hour, spoil: func(reply *messages.KDCRepFields, part *messages.EncKDCRepPart) {
			switch part.SName.PrincipalNameString() + " at " + part.SRealm {
			case "rm/moved at A", "rm/far at B":
				part.SName = ticketGranting("C")
			case "krbtgt/C at A":
				part.SName = ticketGranting("B") // is on the way
			}
			reply.Ticket.SName = part.SName
		}}
		if _, err := alice(t, kdc.listen(t)).Ticket(t.Context(), service); err != nil {
			t.Errorf("%s: %v", service, err)
		}
		if got := strings.TrimPrefix(kdc.log(), "krbtgt/A at A, "); got != want {
			t.Errorf("%s: the kdc was asked for %s, want %s", service, got, want)
		}
	}
}

// Whatever answers in the KDC's place, no ticket of it is taken, no memory for what it
// claims, and nothing panics.
func TestKDCsThatBreakTheRules(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*messages.KDCRepFields, *messages.EncKDCRepPart)
		bytes func([]byte) []byte
		want  error
	}{
		"another request's answer": {func(_ *messages.KDCRepFields, p *messages.EncKDCRepPart) { p.Nonce++ }, nil, ErrReply},
		"another client":           {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.CName.NameString[0] = "bob" }, nil, ErrReply},
		"another realm":            {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.CRealm = "B" }, nil, ErrReply},
		"another service": {func(r *messages.KDCRepFields, p *messages.EncKDCRepPart) {
			p.SName = types.PrincipalName{NameType: 1, NameString: []string{"nn", "host"}}
			r.Ticket.SName = p.SName
		}, nil, ErrReply},
		"hardly anything encrypted": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) {
			r.EncPart = types.EncryptedData{EType: kind, Cipher: []byte("short")}
		}, nil, ErrReply},
		"encrypted with no known type": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) {
			r.EncPart = types.EncryptedData{EType: 99, Cipher: make([]byte, 100)}
		}, nil, nil},
		"encrypted with another key": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) {
			r.EncPart = types.EncryptedData{EType: kind, Cipher: make([]byte, 100)}
		}, nil, ErrWrongKey},
		"a length of 4 GiB": {nil, func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }, ErrReply},
		"no answer":         {nil, func([]byte) []byte { return nil }, ErrKDC},
		"half an answer":    {nil, func(b []byte) []byte { return b[:len(b)/2] }, ErrKDC},
		"an empty answer":   {nil, func([]byte) []byte { return make([]byte, 4) }, ErrReply},
		"nonsense":          {nil, func(b []byte) []byte { clear(b[4:]); return b }, ErrReply},
	} {
		for _, step := range []string{"the login", "the service"} {
			t.Run(name+" for "+step, func(t *testing.T) {
				kdc := &fakeKDC{life: time.Hour}
				conf := kdc.listen(t)
				login := alice(t, conf)
				if step == "the service" { // the login is to succeed
					if err := login.affirm(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				kdc.mu.Lock()
				kdc.spoil, kdc.bytes = tc.spoil, tc.bytes
				kdc.mu.Unlock()
				ticket, err := login.Ticket(t.Context(), "rm/host@A")
				if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
					t.Errorf("got %v, %v, want %v", ticket, err, tc.want)
				}
			})
		}
	}
}

func TestRefusalsOfTheKDCSayWhatToDo(t *testing.T) {
	for code, want := range map[int32]error{
		errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN: ErrUnknownClient,
		errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN: ErrUnknownService,
		errorcode.KDC_ERR_PREAUTH_FAILED:      ErrWrongKey,
		errorcode.KRB_AP_ERR_SKEW:             ErrClockSkew,
		errorcode.KRB_AP_ERR_TKT_EXPIRED:      ErrExpired,
		errorcode.KDC_ERR_CLIENT_REVOKED:      ErrLocked,
		errorcode.KDC_ERR_POLICY:              errRefused,
	} {
		refusal := messages.NewKRBError(ticketGranting("A"), "A", code, "")
		b, err := refusal.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		kdc := &fakeKDC{life: time.Hour, bytes: func([]byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }}
		_, err = alice(t, kdc.listen(t)).Ticket(t.Context(), "rm/host")
		if _, is := errors.AsType[messages.KRBError](err); !is || !errors.Is(err, want) {
			t.Errorf("code %d: got %v, want %v", code, err, want)
		}
	}
}

// A KDC whose clock goes ahead takes the login's ticket for expired before the Login does:
// the same one would be refused until it notices.
func TestATicketThatTheKDCHoldsForExpiredIsReplaced(t *testing.T) {
	refusal := messages.NewKRBError(ticketGranting("A"), "A", errorcode.KRB_AP_ERR_TKT_EXPIRED, "")
	b, err := refusal.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	kdc := &fakeKDC{life: time.Hour}
	login := alice(t, kdc.listen(t))
	if err := login.affirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	kdc.mu.Lock()
	kdc.bytes = func([]byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	kdc.mu.Unlock()
	if _, err := login.Ticket(t.Context(), "rm/host@A"); !errors.Is(err, ErrExpired) {
		t.Fatalf("got %v, want ErrExpired", err)
	}
	kdc.mu.Lock()
	kdc.bytes = nil
	kdc.mu.Unlock()
	if _, err := login.Ticket(t.Context(), "rm/host@A"); err != nil || kdc.log() != "krbtgt/A at A, rm/host at A, krbtgt/A at A, rm/host at A" {
		t.Errorf("%v, asked for %s", err, kdc.log())
	}
}

// One KDC of a realm that is away, or does not answer, is no reason to fail; the end of
// the caller's patience is.
func TestTheNextKDCIsAsked(t *testing.T) {
	kdc := &fakeKDC{life: time.Hour}
	conf := kdc.listen(t)
	conf.Realms[0].KDC = append([]string{"127.0.0.1:1", "127.0.0.1:2"}, conf.Realms[0].KDC...)
	if _, err := alice(t, conf).Ticket(t.Context(), "rm/host@A"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	patience := errors.New("the caller has gone")
	silent := &fakeKDC{life: time.Hour, bytes: func([]byte) []byte { cancel(patience); <-ctx.Done(); return nil }}
	if _, err := alice(t, silent.listen(t)).Ticket(ctx, "rm/host@A"); !errors.Is(err, patience) {
		t.Errorf("got %v, want the cause of the context's end", err)
	}
}

// FuzzReply reads whatever for each kind of answer.
func FuzzReply(f *testing.F) {
	kdc := &fakeKDC{life: time.Hour}
	body := messages.KDCReqBody{Realm: "A", SName: ticketGranting("A")}
	fields, err := kdc.reply(body, alicesKey, keyusage.AS_REP_ENCPART)
	if err != nil {
		f.Fatal(err)
	}
	fields.PVNO, fields.MsgType = 5, 11
	b, err := (&messages.ASRep{KDCRepFields: fields}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	refusal := messages.NewKRBError(ticketGranting("A"), "A", errorcode.KDC_ERR_PREAUTH_REQUIRED, "")
	if b, err = refusal.Marshal(); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		var as messages.ASRep
		if as.Unmarshal(b) == nil {
			_, _ = decryptReply(as.EncPart, alicesKey, keyusage.AS_REP_ENCPART)
		}
		var tgs messages.TGSRep
		if tgs.Unmarshal(b) == nil {
			_, _ = decryptReply(tgs.EncPart, sessionKey, keyusage.TGS_REP_ENCPART_SESSION_KEY)
		}
		var refused messages.KRBError
		if refused.Unmarshal(b) == nil {
			_, _ = prove(keytab.New(), newName(Principal{Service: "alice", Realm: "A"}, 1), refused, []int32{kind})
		}
	})
}
