package hdfs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// issuer answers as a secure NameNode, or with err.
func issuer(t *testing.T, method string, err error) *NameNode {
	t.Helper()
	return NewNameNode(callerFunc(func(called string, request, response proto.Message) error {
		if called != method {
			t.Errorf("called %s, want %s", called, method)
		}
		var identifier string
		switch r := request.(type) {
		case *commonpb.GetDelegationTokenRequestProto:
			identifier = "for " + r.GetRenewer()
			proto.Merge(response, &commonpb.GetDelegationTokenResponseProto{Token: &commonpb.TokenProto{
				Identifier: []byte(identifier), Password: []byte("secret"), Kind: proto.String(creds.KindHDFSDelegation), Service: proto.String(""),
			}})
			return err
		case *commonpb.RenewDelegationTokenRequestProto:
			identifier = string(r.GetToken().GetIdentifier())
			proto.Merge(response, &commonpb.RenewDelegationTokenResponseProto{NewExpiryTime: proto.Uint64(1410901177871)})
		case *commonpb.CancelDelegationTokenRequestProto:
			identifier = string(r.GetToken().GetIdentifier())
		}
		if identifier != "for yarn" {
			t.Errorf("%s of a token %q", called, identifier)
		}
		return err
	}))
}

// No server would select a token without a service.
func TestDelegationTokensAreValidForTheServiceThatTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	service := creds.NameserviceService("ns1")
	token, err := issuer(t, "getDelegationToken", nil).DelegationToken(t.Context(), service, "yarn")
	if err != nil {
		t.Fatal(err)
	}
	want := &creds.Token{Identifier: []byte("for yarn"), Password: []byte("secret"), Kind: creds.KindHDFSDelegation, Service: service}
	if diff := cmp.Diff(want.EncodeURL(), token.EncodeURL()); diff != "" {
		t.Error(diff)
	}
	expires, err := issuer(t, "renewDelegationToken", nil).RenewDelegationToken(t.Context(), token)
	if err != nil || !expires.Equal(time.UnixMilli(1410901177871)) {
		t.Errorf("renewed until %v, %v", expires, err)
	}
	if err := issuer(t, "cancelDelegationToken", nil).CancelDelegationToken(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestDelegationTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	token := &creds.Token{Identifier: []byte("for yarn"), Password: []byte("secret"), Kind: creds.KindHDFSDelegation, Service: "ha-hdfs:ns1"}
	for class, want := range map[string]error{
		"org.apache.hadoop.security.token.SecretManager$InvalidToken": yarnrpc.ErrInvalidToken,
		"org.apache.hadoop.security.AccessControlException":           yarnrpc.ErrAccessControl,
	} {
		refusal := &yarnrpc.RemoteError{Class: class, Message: "no"}
		_, err := issuer(t, "getDelegationToken", refusal).DelegationToken(t.Context(), "ha-hdfs:ns1", "yarn")
		_, renewError := issuer(t, "renewDelegationToken", refusal).RenewDelegationToken(t.Context(), token)
		cancelError := issuer(t, "cancelDelegationToken", refusal).CancelDelegationToken(t.Context(), token)
		if !strings.Contains(err.Error(), `"yarn"`) {
			t.Errorf("error %v does not name the renewer", err)
		}
		for _, err := range []error{err, renewError, cancelError} {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "ha-hdfs:ns1") || strings.Contains(err.Error(), "secret") {
				t.Errorf("error is %v, want %v", err, want)
			}
		}
	}
}

func TestAnOpenClusterIssuesNoDelegationTokens(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(string, proto.Message, proto.Message) error { return nil }))
	if token, err := nn.DelegationToken(t.Context(), "127.0.0.1:8020", "yarn"); !errors.Is(err, ErrNoDelegationTokens) || token != nil {
		t.Errorf("token is %v, %v", token, err)
	}
}
