package pki

import (
	"errors"
	"testing"
	"time"
)

// TestAStoredAuthorityGoesOn would catch a next ApplicationMaster that workers and clients of the last one do not know,
// and one that takes the keys of another application.
func TestAStoredAuthorityGoesOn(t *testing.T) {
	t.Parallel()
	first := authority(t, app)
	te := taskExecutor(t, first, container)
	stored, err := first.PEM()
	if err != nil {
		t.Fatal(err)
	}
	second, err := ParseAuthority(app, stored)
	if err != nil {
		t.Fatal(err)
	}
	am, err := second.IssueApplicationMaster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, serverErr, clientErr := connect(t, am.ServerTLS(OnlyRole(RoleTaskExecutor)), te.ClientTLS(OnlyRole(RoleApplicationMaster))); serverErr != nil || clientErr != nil {
		t.Errorf("a worker of the first master and the second master: server %v, client %v", serverErr, clientErr)
	}
	if _, err := ParseAuthority("application_1700000000000_9999", stored); !errors.Is(err, ErrIdentity) {
		t.Errorf("authority of another application: %v, want ErrIdentity", err)
	}
	credentials, err := te.PEM()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"nothing": nil, "a worker's credentials": credentials, "half of it": stored[:len(stored)/2]} {
		if _, err := ParseAuthority(app, text); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v, want errMalformed", name, err)
		}
	}
}
