package records

import (
	"errors"
	"testing"
)

// FuzzParseIDs reads ids from users and from YARN's texts. It would catch a text that is
// read as another id.
func FuzzParseIDs(f *testing.F) {
	f.Add("application_1410901177871_0007")
	f.Add("appattempt_1410901177871_0007_000002")
	f.Add("[fe80::1%eth0]:8041")
	f.Add("127.0.0.2:8041")
	f.Add("reservation_1410901177871_0008")
	f.Add("nm.yarn.io/os")
	f.Fuzz(func(t *testing.T, s string) {
		readsBack(t, s, ParseApplicationID)
		readsBack(t, s, ParseApplicationAttemptID)
		readsBack(t, s, ParseNodeID)
		readsBack(t, s, ParseReservationID)
		readsBack(t, s, ParseNodeAttributeKey)
	})
}

// FuzzParseURL reads URIs of files. It would catch a result that names another place than
// the URI.
func FuzzParseURL(f *testing.F) {
	f.Add("hdfs://namenode:8020/user/a%20b/x")
	f.Add("hdfs://me:word@ns1/x")
	f.Add("hdfs://[fe80::1]/x")
	f.Add("file:///tmp//x")
	f.Fuzz(func(t *testing.T, s string) { readsBack(t, s, ParseURL) })
}

func readsBack[T interface {
	comparable
	String() string
}](t *testing.T, s string, parse func(string) (T, error)) {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: error %v is not ErrMalformed", s, err)
		}
		return
	}
	if again, err := parse(v.String()); err != nil || again != v {
		t.Errorf("%q is %#v, written %q, which reads as %#v, %v", s, v, v.String(), again, err)
	}
}
