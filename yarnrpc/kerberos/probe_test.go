package kerberos

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// refuses makes a fake KDC say no, at a time of its own.
func refuses(t *testing.T, clock time.Time) *fakeKDC {
	t.Helper()
	refusal := messages.NewKRBError(ticketGranting("A"), "A", errorcode.KDC_ERR_BADOPTION, "")
	refusal.STime, refusal.Susec = clock.Truncate(time.Second), clock.Nanosecond()/1000
	b, err := refusal.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return &fakeKDC{life: time.Hour, bytes: func([]byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	}}
}

// A clock that is off must be seen though nobody can log in because of it, and a KDC that is away
// must not hide the others.
func TestEveryKDCTellsItsTime(t *testing.T) {
	const ahead = 20 * time.Minute
	began := time.Now()
	conf := refuses(t, began.Add(ahead)).listen(t)
	there := conf.Realms[0].KDC[0]
	conf.Realms[0].KDC = append(conf.Realms[0].KDC, "127.0.0.1:1")
	kdcs, err := conf.Probe(t.Context(), Principal{Service: "alice"})
	if err != nil || len(kdcs) != 2 {
		t.Fatalf("got %v, %v", kdcs, err)
	}
	if kdcs[0].Address != "127.0.0.1:1" || kdcs[0].Err == nil {
		t.Errorf("the KDC that is away: %+v", kdcs[0])
	}
	if got := kdcs[1]; got.Address != there || got.Err != nil || got.Ahead() > ahead || got.Ahead() < ahead-time.Since(began)-time.Millisecond {
		t.Errorf("the other one: %+v, %v ahead", got, got.Ahead())
	}
}

func TestWhatIsNoKDCTellsNoTime(t *testing.T) {
	for name, kdc := range map[string]*fakeKDC{
		"an answer that no KDC gives": {bytes: func([]byte) []byte { return []byte{0, 0, 0, 4, 'H', 'T', 'T', 'P'} }},
		"no end":                      {bytes: func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }},
		"a ticket":                    {life: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			kdcs, err := kdc.listen(t).Probe(t.Context(), Principal{Service: "alice", Realm: "B"})
			if err != nil || len(kdcs) != 1 || !errors.Is(kdcs[0].Err, ErrReply) || !kdcs[0].Clock.IsZero() {
				t.Errorf("got %+v, %v, want ErrReply", kdcs, err)
			}
		})
	}
}

func TestARealmWithoutKDCsIsAnError(t *testing.T) {
	conf, err := ParseConfig("test", []byte("[libdefaults]\ndefault_realm = A\ndns_lookup_kdc = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conf.Probe(t.Context(), Principal{Service: "alice"}); !errors.Is(err, ErrKDC) {
		t.Errorf("got %v, want ErrKDC", err)
	}
}
