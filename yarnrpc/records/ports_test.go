package records

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExposedPortsAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		text ExposedPorts
		want map[string][]HostPort
		err  error
	}{
		"none":                        {"", nil, nil},
		"forwarded":                   {`{"8080/tcp":[{"HostIp":"0.0.0.0","HostPort":"32768"},{"HostIp":"::","HostPort":"1"}]}`, map[string][]HostPort{"8080/tcp": {{"0.0.0.0", 32768}, {"::", 1}}}, nil},
		"declared, but not forwarded": {`{"53/udp":null}`, map[string][]HostPort{"53/udp": nil}, nil},
		"a port that there is not":    {`{"53/udp":[{"HostIp":"","HostPort":"65536"}]}`, nil, ErrMalformed},
		"cut short":                   {`{"53/udp":[`, nil, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.text.Parse()
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
				t.Errorf("error %v; %s", err, diff)
			}
		})
	}
}

// FuzzExposedPorts reads Docker's ports as two daemons pass them on. It would catch a port that is read as
// another.
func FuzzExposedPorts(f *testing.F) {
	f.Add(`{"8080/tcp":[{"HostIp":"0.0.0.0","HostPort":"32768"}],"53/udp":null}`)
	f.Add(`{"8080/tcp":[{"HostPort":32768}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		ports, err := ExposedPorts(s).Parse()
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%q: error %v is not ErrMalformed", s, err)
			}
			return
		}
		text, err := json.Marshal(ports)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ExposedPorts(text).Parse(); err != nil || !cmp.Equal(ports, again) {
			t.Errorf("%q is %v, written %s, which reads as %v, %v", s, ports, text, again, err)
		}
	})
}
