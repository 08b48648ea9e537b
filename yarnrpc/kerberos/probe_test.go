package kerberos

import (
	"errors"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/kdctest"
)

// refuses is a KDC that refuses every request, with its own time.
func refuses(clock time.Time) *kdctest.KDC {
	return &kdctest.KDC{
		Clock:  func() time.Time { return clock },
		Refuse: func(string) int32 { return errorcode.KDC_ERR_BADOPTION },
	}
}

// A wrong clock must be visible although no user can log in because of it. A KDC that is down
// must not hide the others.
func TestEveryKDCTellsItsTime(t *testing.T) {
	const ahead = 20 * time.Minute
	began := time.Now()
	conf := listen(t, refuses(began.Add(ahead)))
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
	for name, kdc := range map[string]*kdctest.KDC{
		"an answer that no KDC gives": {Bytes: func([]byte) []byte { return []byte{0, 0, 0, 4, 'H', 'T', 'T', 'P'} }},
		"no end":                      {Bytes: func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }},
		"a ticket":                    {Life: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			kdcs, err := listen(t, kdc).Probe(t.Context(), Principal{Service: "alice", Realm: "B"})
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
