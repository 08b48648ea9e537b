package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// issue makes a ticket of alice for a service, and the service's key.
func issue(t testing.TB, kind int32) (*Ticket, types.EncryptionKey) {
	t.Helper()
	size := 16
	if kind == etypeID.AES256_CTS_HMAC_SHA1_96 || kind == etypeID.AES256_CTS_HMAC_SHA384_192 {
		size = 32
	}
	key := types.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{2}, size)}
	ticket, err := IssueTicket("alice", "rm/host", "REALM", key, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ticket, key
}

// gssLogin runs a login. spoil may change the server's messages, by their number.
func gssLogin(client *GSSAPI, server *GSSAPIServer, spoil func(place int, challenge []byte) []byte) (clients, servers Layer, user string, err error) {
	response, err := client.Start(nil)
	for place := 0; err == nil; place++ {
		challenge, done, serverErr := server.Next(response)
		if serverErr != nil {
			return nil, nil, "", serverErr
		}
		if done {
			if user, servers, err = server.Finish(response); err == nil {
				clients, err = client.Finish(nil)
			}
			return clients, servers, user, err
		}
		if spoil != nil {
			challenge = spoil(place, challenge)
		}
		response, err = client.Next(challenge)
	}
	return nil, nil, "", err
}

// TestAKerberosLoginProtectsBothDirections would catch a wrong key, usage or sequence
// number in either direction, for each kind of key.
func TestAKerberosLoginProtectsBothDirections(t *testing.T) {
	for _, kind := range EncryptionTypes() {
		for _, qop := range []QOP{QOPAuthentication, QOPIntegrity, QOPPrivacy} {
			for _, subkey := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, qop, subkey), func(t *testing.T) {
					ticket, key := issue(t, kind)
					server := &GSSAPIServer{Key: key, QOPs: []QOP{qop}}
					if subkey {
						server.subkey = types.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{7}, len(key.KeyValue))}
					}
					a, b, user, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{QOPPrivacy, QOPIntegrity, QOPAuthentication}}, server, nil)
					if err != nil || user != "alice@REALM" {
						t.Fatal(user, err)
					}
					if qop == QOPAuthentication {
						if a != nil || b != nil {
							t.Error("authentication alone gave a layer")
						}
						return
					}
					for _, message := range []string{"", "first", strings.Repeat("second", 10_000), "third"} {
						exchange(t, a, b, message, qop)
						exchange(t, b, a, message, qop)
					}
				})
			}
		}
	}
}

func exchange(t *testing.T, from, to Layer, message string, qop QOP) {
	t.Helper()
	token, err := from.AppendWrap(nil, []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if message != "" && bytes.Contains(token, []byte(message)) != (qop == QOPIntegrity) {
		t.Errorf("under %s a message of %d bytes is readable: %t", qop, len(message), qop != QOPIntegrity)
	}
	if len(message) <= from.MaxMessage() && len(token) > defaultMaxBuffer {
		t.Errorf("a message of %d bytes makes a token of %d, more than the buffer", len(message), len(token))
	}
	if got, err := to.Unwrap(token); err != nil || string(got) != message {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(message))
	}
}

// rotated rotates a token as RFC 4121 §4.2.5 allows.
func rotated(token []byte, n int) []byte {
	out := bytes.Clone(token)
	body := token[gssHeader:]
	cut := len(body) - n%len(body)
	copy(out[gssHeader:], append(append([]byte{}, body[cut:]...), body[:cut]...))
	binary.BigEndian.PutUint16(out[6:], uint16(n))
	return out
}

// TestTokensMayBeRotated would catch a client that understands only servers which do not
// rotate: MIT's and Windows' do.
func TestTokensMayBeRotated(t *testing.T) {
	for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
		for _, n := range []int{1, 12, 28, 1000, 65535} {
			ticket, key := issue(t, etypeID.AES256_CTS_HMAC_SHA1_96)
			a, b, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{qop}}, &GSSAPIServer{Key: key, QOPs: []QOP{qop}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			token, err := b.AppendWrap(nil, []byte("a message"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := a.Unwrap(rotated(token, n)); err != nil || string(got) != "a message" {
				t.Errorf("%s rotated by %d: got %q, %v", qop, n, got, err)
			}
		}
	}
}

// TestAKerberosLayerRefusesWhatWasTamperedWith would catch a layer that lets a message be
// changed, left out, repeated, sent back, or stripped of its protection.
func TestAKerberosLayerRefusesWhatWasTamperedWith(t *testing.T) {
	for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
		for name, spoil := range map[string]func(first, second []byte) []byte{
			"a bit flipped in the message":  func(first, _ []byte) []byte { first[gssHeader] ^= 1; return first },
			"a bit flipped in the checksum": func(first, _ []byte) []byte { first[len(first)-1] ^= 1; return first },
			"a bit flipped in the sequence": func(first, _ []byte) []byte { first[15] ^= 1; return first },
			"a sequence of 64 bits":         func(first, _ []byte) []byte { first[8] = 1; return first },
			"the flag of sealing flipped":   func(first, _ []byte) []byte { first[2] ^= flagSealed; return first },
			"the flag of the key flipped":   func(first, _ []byte) []byte { first[2] ^= flagSubkey; return first },
			"another length of checksum":    func(first, _ []byte) []byte { first[5]++; return first },
			"a length beyond the end":       func(first, _ []byte) []byte { first[4] = 0xff; return first },
			"another rotation":              func(first, _ []byte) []byte { first[7] = 5; return first },
			"another kind of token":         func(first, _ []byte) []byte { first[1] = 5; return first },
			"the second first":              func(_, second []byte) []byte { return second },
			"cut short":                     func(first, _ []byte) []byte { return first[:len(first)-1] },
			"the header alone":              func(first, _ []byte) []byte { return first[:gssHeader] },
			"a few bytes":                   func(first, _ []byte) []byte { return first[:3] },
			"nothing":                       func(_, _ []byte) []byte { return nil },
		} {
			t.Run(string(qop)+" "+name, func(t *testing.T) {
				ticket, key := issue(t, etypeID.AES128_CTS_HMAC_SHA1_96)
				a, b, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{qop}}, &GSSAPIServer{Key: key, QOPs: []QOP{qop}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				first, err := b.AppendWrap(nil, []byte("message"))
				if err != nil {
					t.Fatal(err)
				}
				second, err := b.AppendWrap(nil, []byte("message"))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := a.Unwrap(spoil(bytes.Clone(first), second)); !errors.Is(err, ErrTampered) {
					t.Errorf("got %q, %v, want ErrTampered", got, err)
				}
				own, err := a.AppendWrap(nil, []byte("message"))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := a.Unwrap(own); !errors.Is(err, ErrTampered) {
					t.Errorf("our own message sent back: got %q, %v, want ErrTampered", got, err)
				}
				if got, err := a.Unwrap(bytes.Clone(first)); err != nil || string(got) != "message" {
					t.Errorf("the right one then: got %q, %v", got, err)
				}
				if got, err := a.Unwrap(first); !errors.Is(err, ErrTampered) {
					t.Errorf("repeated: got %q, %v, want ErrTampered", got, err)
				}
			})
		}
	}
}

// TestAServerMustProveItself would catch a client that goes on with a server which cannot
// read its ticket, which answers another request, or which leaves out a step.
func TestAServerMustProveItself(t *testing.T) {
	ticket, key := issue(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	proof := func(t *testing.T, key types.EncryptionKey, at time.Time) []byte {
		token, err := Reply(key, messages.EncAPRepPart{CTime: at, SequenceNumber: 1})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, place int, challenge []byte) []byte
		want  error
	}{
		"no proof": {func(*testing.T, int, []byte) []byte { return nil }, ErrNotMutual},
		"an offer where the proof is due": {func(t *testing.T, _ int, _ []byte) []byte {
			half, err := newGSSHalf(ticket.Key, flagAcceptor, 0)
			if err != nil {
				t.Fatal(err)
			}
			offer, err := half.appendWrap(nil, []byte{1, 0, 0, 0}, false)
			if err != nil {
				t.Fatal(err)
			}
			return offer
		}, ErrNotMutual},
		"a proof with another key": {func(t *testing.T, _ int, _ []byte) []byte { return proof(t, key, time.Now()) }, ErrNotMutual},
		"a proof of another time":  {func(t *testing.T, _ int, _ []byte) []byte { return proof(t, ticket.Key, time.Now().Add(-time.Minute)) }, ErrNotMutual},
		"a proof cut short":        {func(_ *testing.T, _ int, c []byte) []byte { return c[:len(c)-1] }, ErrNotMutual},
		"a proof and more":         {func(_ *testing.T, _ int, c []byte) []byte { return append(c, 0) }, ErrNotMutual},
		"an error": {func(t *testing.T, _ int, _ []byte) []byte {
			refusal := messages.NewKRBError(ticket.Ticket.SName, "REALM", 37, "")
			b, err := refusal.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			token, err := frameToken(tokenError, b)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}, ErrNotMutual},
		"an offer that was changed": {func(_ *testing.T, place int, c []byte) []byte {
			if place == 1 {
				c[gssHeader] = 1
			}
			return c
		}, ErrTampered},
		"the proof again where the offer is due": {func() func(*testing.T, int, []byte) []byte {
			var first []byte
			return func(_ *testing.T, place int, c []byte) []byte {
				if place == 0 {
					first = c
				}
				return first
			}
		}(), ErrTampered},
	} {
		t.Run(name, func(t *testing.T) {
			client := &GSSAPI{Ticket: ticket, QOPs: []QOP{QOPPrivacy}}
			_, _, _, err := gssLogin(client, &GSSAPIServer{Key: key, QOPs: []QOP{QOPPrivacy}}, func(place int, c []byte) []byte { return tc.spoil(t, place, c) })
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if _, err := client.Finish(nil); !errors.Is(err, ErrNotMutual) {
				t.Errorf("success all the same: got %v, want ErrNotMutual", err)
			}
		})
	}
}

func TestAKerberosLoginThatIsNotWanted(t *testing.T) {
	ticket, key := issue(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	t.Run("less protection than asked", func(t *testing.T) {
		for _, less := range [][]QOP{{QOPAuthentication}, {QOPAuthentication, QOPIntegrity}} {
			_, _, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{QOPPrivacy}}, &GSSAPIServer{Key: key, QOPs: less}, nil)
			if !errors.Is(err, ErrProtection) {
				t.Errorf("%v: got %v, want ErrProtection", less, err)
			}
		}
	})
	t.Run("success at once", func(t *testing.T) {
		client := &GSSAPI{Ticket: ticket}
		if _, err := client.Start(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Finish(nil); !errors.Is(err, ErrNotMutual) {
			t.Errorf("got %v, want ErrNotMutual", err)
		}
	})
	t.Run("a key of rc4", func(t *testing.T) {
		ticket := *ticket
		ticket.Key.KeyType = etypeID.RC4_HMAC
		if _, err := (&GSSAPI{Ticket: &ticket}).Start(nil); !errors.Is(err, ErrEncryptionType) {
			t.Errorf("got %v, want ErrEncryptionType", err)
		}
	})
	t.Run("no secret in what is printed", func(t *testing.T) {
		for _, verb := range []string{"%v", "%+v", "%s"} {
			if got := fmt.Sprintf(verb, ticket); got != "ticket of alice@REALM for rm/host@REALM" {
				t.Errorf("%s: got %s", verb, got)
			}
		}
	})
}

// FuzzGSSAPI gives a client arbitrary bytes as the server's proof, offer and message.
func FuzzGSSAPI(f *testing.F) {
	ticket, key := issue(f, etypeID.AES256_CTS_HMAC_SHA1_96)
	var said [][]byte
	_, servers, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{QOPPrivacy}}, &GSSAPIServer{Key: key, QOPs: []QOP{QOPPrivacy}},
		func(_ int, c []byte) []byte { said = append(said, bytes.Clone(c)); return c })
	if err != nil {
		f.Fatal(err)
	}
	message, err := servers.AppendWrap(nil, []byte("message"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(said[0], said[1], message)
	f.Add(said[0][:20], said[1][:gssHeader], message[:gssHeader])
	f.Add([]byte{0x60}, []byte{}, []byte{5, 4})
	f.Fuzz(func(t *testing.T, proof, offer, message []byte) {
		client := &GSSAPI{Ticket: ticket, QOPs: []QOP{QOPPrivacy, QOPIntegrity, QOPAuthentication}}
		if _, err := client.Start(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Next(proof); err == nil {
			t.Fatal("a proof was taken that is not to this request")
		}
		server := &GSSAPIServer{Key: key, QOPs: []QOP{QOPPrivacy, QOPIntegrity}}
		for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
			a, _, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{qop}}, &GSSAPIServer{Key: key, QOPs: []QOP{qop}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Unwrap(bytes.Clone(message)); err == nil {
				t.Fatal("a message was taken that the server did not send")
			}
		}
		_, _, _ = server.Next(proof) // must not panic
		if _, _, _, err := gssLogin(&GSSAPI{Ticket: ticket}, &GSSAPIServer{Key: key}, func(place int, c []byte) []byte {
			if place == 1 {
				return offer
			}
			return c
		}); err == nil {
			t.Fatal("an offer was taken that the server did not make")
		}
	})
}
