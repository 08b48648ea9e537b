package kerberos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
)

// listen makes a KDC serve until the test ends, and returns a configuration with it in each realm.
func listen(t *testing.T, kdc *kdctest.KDC) *Config {
	t.Helper()
	if err := kdc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kdc.Close(); err != nil {
			t.Error(err)
		}
	})
	conf, err := ParseConfig("test", kdc.Conf())
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// alice returns a login with a keytab that has her key.
func alice(t *testing.T, conf *Config) *Login {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	b, err := kdctest.Keytab()
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

// TestWhoLogsInIsKnownAtAnyTime would catch a name that is read while another goroutine reads
// the tickets of a new kinit.
func TestWhoLogsInIsKnownAtAnyTime(t *testing.T) {
	content, err := os.ReadFile("testdata/mit/alice.ccache")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := FromCache(listen(t, new(kdctest.KDC)), path)
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	done := make(chan struct{})
	asking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if got := login.Principal(); got.Service != "alice" {
					t.Errorf("it is %v who logs in", got)
					return
				}
			}
		}
	})
	for i := range 100 {
		at := time.Unix(int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if err := login.lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := login.source.(*cacheSource).read(); err != nil { // as for a caller that wants a ticket
			t.Error(err)
		}
		login.unlock()
	}
	close(done)
	asking.Wait()
}

func TestATicketIsAskedForOnce(t *testing.T) {
	kdc := &kdctest.KDC{Life: time.Hour}
	login := alice(t, listen(t, kdc))
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
	if got := kdc.Asked(); got != "krbtgt/A at A, rm/host at A" {
		t.Errorf("the kdc was asked for %s", got)
	}
	login.Forget("rm/host@A")
	if _, err := login.Ticket(t.Context(), "rm/host@A"); err != nil || kdc.Asked() != "krbtgt/A at A, rm/host at A, rm/host at A" {
		t.Errorf("forgotten and wanted again: %v, asked for %s", err, kdc.Asked())
	}
}

// A ticket of another realm comes from that realm's KDC. If the client does not know the realm, or there is no
// direct way, the KDCs' referrals lead there.
func TestServicesOfOtherRealms(t *testing.T) {
	for service, want := range map[string]string{
		"rm/b":      "krbtgt/B at A, rm/b at B",
		"rm/host@B": "krbtgt/B at A, rm/host at B",
		"rm/moved":  "rm/moved at A, rm/moved at C",
		"rm/far@C":  "krbtgt/C at A, rm/far at B, rm/far at C",
	} {
		kdc := &kdctest.KDC{Life: time.Hour, Spoil: func(reply *messages.KDCRepFields, part *messages.EncKDCRepPart) {
			switch part.SName.PrincipalNameString() + " at " + part.SRealm {
			case "rm/moved at A", "rm/far at B":
				part.SName = ticketGranting("C")
			case "krbtgt/C at A":
				part.SName = ticketGranting("B") // is on the way
			}
			reply.Ticket.SName = part.SName
		}}
		if _, err := alice(t, listen(t, kdc)).Ticket(t.Context(), service); err != nil {
			t.Errorf("%s: %v", service, err)
		}
		if got := strings.TrimPrefix(kdc.Asked(), "krbtgt/A at A, "); got != want {
			t.Errorf("%s: the kdc was asked for %s, want %s", service, got, want)
		}
	}
}

// Whatever answers in place of a KDC: the client accepts no ticket from it, allocates no memory for announced
// lengths, and does not panic.
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
			r.EncPart = types.EncryptedData{EType: kdctest.KeyType, Cipher: []byte("short")}
		}, nil, ErrReply},
		"encrypted with no known type": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) {
			r.EncPart = types.EncryptedData{EType: 99, Cipher: make([]byte, 100)}
		}, nil, nil},
		"encrypted with another key": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) {
			r.EncPart = types.EncryptedData{EType: kdctest.KeyType, Cipher: make([]byte, 100)}
		}, nil, ErrWrongKey},
		"a length of 4 GiB": {nil, func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }, ErrReply},
		"no answer":         {nil, func([]byte) []byte { return nil }, ErrKDC},
		"half an answer":    {nil, func(b []byte) []byte { return b[:len(b)/2] }, ErrKDC},
		"an empty answer":   {nil, func([]byte) []byte { return make([]byte, 4) }, ErrReply},
		"nonsense":          {nil, func(b []byte) []byte { clear(b[4:]); return b }, ErrReply},
	} {
		for _, step := range []string{"the login", "the service"} {
			t.Run(name+" for "+step, func(t *testing.T) {
				kdc := &kdctest.KDC{Life: time.Hour}
				conf := listen(t, kdc)
				login := alice(t, conf)
				if step == "the service" { // the login must succeed
					if err := login.affirm(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				kdc.Change(func() { kdc.Spoil, kdc.Bytes = tc.spoil, tc.bytes })
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
		kdc := &kdctest.KDC{Life: time.Hour, Refuse: func(string) int32 { return code }}
		_, err := alice(t, listen(t, kdc)).Ticket(t.Context(), "rm/host")
		if _, is := errors.AsType[messages.KRBError](err); !is || !errors.Is(err, want) {
			t.Errorf("code %d: got %v, want %v", code, err, want)
		}
	}
}

// The error must hold what the user has to compare: the clocks, and which one is behind; the keys; the KDC.
func TestRefusalsOfTheKDCNameWhatDiffers(t *testing.T) {
	const ahead = 20*time.Minute + 30*time.Second
	for _, tc := range []struct {
		ahead time.Duration // of the KDC's clock
		code  int32         // 0: it does not refuse
		want  []string
	}{
		{ahead, errorcode.KRB_AP_ERR_SKEW, []string{"set this machine's clock: it is 20m", "s behind the kdc's: kdc 127.0.0.1:", "KRB_AP_ERR_SKEW"}},
		{-ahead, errorcode.KRB_AP_ERR_SKEW, []string{"set this machine's clock: it is 20m", "s ahead of the kdc's: kdc 127.0.0.1:"}},
		{ahead, 0, []string{"set this machine's clock: it is 20m", "s behind the kdc's: kdc 127.0.0.1:"}},
		{0, errorcode.KDC_ERR_PREAUTH_FAILED, []string{"which has kvno 1: aes256-cts-hmac-sha1-96: the key differs", "kdc 127.0.0.1:"}},
	} {
		kdc := &kdctest.KDC{Life: time.Hour, Clock: func() time.Time { return time.Now().Add(tc.ahead) }}
		if tc.code != 0 {
			kdc.Refuse = func(string) int32 { return tc.code }
		}
		_, err := alice(t, listen(t, kdc)).Ticket(t.Context(), "rm/host")
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("code %d, %v ahead: got %v, want %q in it", tc.code, tc.ahead, err, want)
			}
		}
	}
}

// A KDC whose clock is ahead treats the login's ticket as expired before the Login does. Without a new ticket,
// the KDC would refuse the same one until the Login notices.
func TestATicketThatTheKDCHoldsForExpiredIsReplaced(t *testing.T) {
	kdc := &kdctest.KDC{Life: time.Hour}
	login := alice(t, listen(t, kdc))
	if err := login.affirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	kdc.Change(func() { kdc.Refuse = func(string) int32 { return errorcode.KRB_AP_ERR_TKT_EXPIRED } })
	if _, err := login.Ticket(t.Context(), "rm/host@A"); !errors.Is(err, ErrExpired) {
		t.Fatalf("got %v, want ErrExpired", err)
	}
	kdc.Change(func() { kdc.Refuse = nil })
	if _, err := login.Ticket(t.Context(), "rm/host@A"); err != nil || kdc.Asked() != "krbtgt/A at A, rm/host at A, krbtgt/A at A, rm/host at A" {
		t.Errorf("%v, asked for %s", err, kdc.Asked())
	}
}

// If one KDC of a realm is down, or does not answer, the call must not fail before the caller's time is over.
func TestTheNextKDCIsAsked(t *testing.T) {
	kdc := &kdctest.KDC{Life: time.Hour}
	conf := listen(t, kdc)
	conf.Realms[0].KDC = append([]string{"127.0.0.1:1", "127.0.0.1:2"}, conf.Realms[0].KDC...)
	if _, err := alice(t, conf).Ticket(t.Context(), "rm/host@A"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	patience := errors.New("the caller has gone")
	silent := &kdctest.KDC{Life: time.Hour, Bytes: func([]byte) []byte { cancel(patience); <-ctx.Done(); return nil }}
	if _, err := alice(t, listen(t, silent)).Ticket(ctx, "rm/host@A"); !errors.Is(err, patience) {
		t.Errorf("got %v, want the cause of the context's end", err)
	}
}

// FuzzReply reads arbitrary answers of each kind.
func FuzzReply(f *testing.F) {
	kdc := &kdctest.KDC{Life: time.Hour}
	request, err := messages.NewASReqForTGT("A", config.New(), newName(Principal{Service: "alice"}, 1).PrincipalName)
	if err != nil {
		f.Fatal(err)
	}
	b, err := request.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	if b, err = kdc.Answer(b); err != nil {
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
			_, _ = decryptReply(as.EncPart, kdctest.AlicesKey(), keyusage.AS_REP_ENCPART)
		}
		var tgs messages.TGSRep
		if tgs.Unmarshal(b) == nil {
			_, _ = decryptReply(tgs.EncPart, kdctest.SessionKey(), keyusage.TGS_REP_ENCPART_SESSION_KEY)
		}
		var refused messages.KRBError
		if refused.Unmarshal(b) == nil {
			_, _ = prove(keytab.New(), newName(Principal{Service: "alice", Realm: "A"}, 1), refused, []int32{kdctest.KeyType})
		}
	})
}
