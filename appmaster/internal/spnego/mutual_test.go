package spnego_test

import (
	"testing"
	"time"

	gokrb5 "github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestTheServiceProvesItself would catch an answer that clients do not accept as the service's: Hadoop's
// own then give up, although the service has let them in.
func TestTheServiceProvesItself(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web)
	s := load(t, path)
	for name, form := range map[string]struct {
		wrap   func(mechanism []byte) []byte
		unwrap func(answer []byte) []byte
	}{
		"by Kerberos": {
			func(mechanism []byte) []byte { return mechanism },
			func(answer []byte) []byte { return answer },
		},
		"by SPNEGO": {
			func(mechanism []byte) []byte {
				token := request(t, "bob", realm, web, key, time.Hour)
				token.NegTokenInit.MechTokenBytes = mechanism
				return marshal(t, token)
			},
			func(answer []byte) []byte {
				var told gokrb5.NegTokenResp
				if err := told.Unmarshal(answer); err != nil || told.State() != gokrb5.NegStateAcceptCompleted {
					t.Errorf("the client is told %+v, %v", told, err)
				}
				return told.ResponseToken
			},
		},
	} {
		ticket, err := sasl.IssueTicket("bob", web, realm, key, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		client := sasl.GSSAPI{Ticket: ticket}
		token, err := client.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := s.Accept(form.wrap(token))
		if err != nil || accepted.Client != "bob@"+realm {
			t.Errorf("%s: got %q, %v, want bob", name, accepted.Client, err)
			continue
		}
		if _, err := client.Next(form.unwrap(accepted.Answer)); err != nil {
			t.Errorf("%s: the client does not know the service: %v", name, err)
		}
	}
}

// TestWhoAsksForNoProofGetsNone would catch an unexpected token in the answer, which clients without SPNEGO
// take for an error.
func TestWhoAsksForNoProofGetsNone(t *testing.T) {
	t.Parallel()
	path, key := keys(t, web)
	token := request(t, "bob", realm, web, key, time.Hour)
	if got, err := load(t, path).Accept(token.NegTokenInit.MechTokenBytes); err != nil || got.Client != "bob@"+realm || len(got.Answer) > 0 {
		t.Errorf("got %q, %x, %v, want bob and nothing", got.Client, got.Answer, err)
	}
}
