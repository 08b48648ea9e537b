package taskrunner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// TestHostsGetCertificatesUnlessEncryptionIsOff would catch an option for
// encryption that does nothing, or one that turns it off by default.
func TestHostsGetCertificatesUnlessEncryptionIsOff(t *testing.T) {
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.IssueTaskExecutor("container_1_0001_01_000002", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]*pki.Credentials{"": own, "true": own, "false": nil} {
		layer := config.Layer{Source: "test", Values: map[string]string{}}
		if text != "" {
			layer.Values[config.SSLInternalEnabled.Name()] = text
		}
		options, err := config.New(layer)
		if err != nil {
			t.Fatal(err)
		}
		if got := (environment{config: options, credential: own}).hostIssuer(); got != want {
			t.Errorf("%s=%q: hosts are certified by %v, want %v", config.SSLInternalEnabled, text, got, want)
		}
	}
}

// TestHostsDoNotInheritWhoTheTaskExecutorIs would catch a host that is given the
// TaskExecutor's own limits, its launch context, or the way to its credentials.
func TestHostsDoNotInheritWhoTheTaskExecutorIs(t *testing.T) {
	kept := hostEnvironment([]string{
		"PATH=/bin", launch.Variable + "=x", launch.TokenFileVariable + "=/t", "GOMEMLIMIT=32MiB", "GOMAXPROCS=2", "TZ=",
	})
	if diff := cmp.Diff([]string{"PATH=/bin", "TZ="}, kept); diff != "" {
		t.Errorf("environment of hosts (-want +got):\n%s", diff)
	}
}
