package sasl

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// eachLayer runs a test with both ends of every kind of layer.
func eachLayer(t *testing.T, test func(t *testing.T, client, server Layer)) {
	for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
		t.Run(fmt.Sprintf("%s %s", MechanismDigestMD5, qop), func(t *testing.T) {
			client, server := pair(t, qop)
			test(t, client, server)
		})
		for _, kind := range EncryptionTypes() {
			t.Run(fmt.Sprintf("%s %s %d", MechanismGSSAPI, qop, kind), func(t *testing.T) {
				ticket, key := issue(t, kind)
				client, server, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{qop}}, &GSSAPIServer{Key: key, QOPs: []QOP{qop}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				test(t, client, server)
			})
		}
	}
	t.Run(cipher3DES, func(t *testing.T) {
		l := login{user: "u", qop: QOPPrivacy, cipher: cipher3DES}
		test(t, newLayer(l, clientToServer, serverToClient, defaultMaxBuffer), newLayer(l, serverToClient, clientToServer, defaultMaxBuffer))
	})
}

// TestOneBufferServesAllMessages would catch a layer whose state becomes wrong between
// messages of different lengths, and one that writes outside its buffer.
func TestOneBufferServesAllMessages(t *testing.T) {
	eachLayer(t, func(t *testing.T, client, server Layer) {
		var b []byte
		for _, length := range []int{1, 15, 16, 17, 0, 600, 31, 32, 33, 10_000, 48, 2} {
			want := strings.Repeat("m", length)
			message := []byte(want)
			var err error
			if b, err = client.AppendWrap(append(b[:0], "before"...), message); err != nil {
				t.Fatal(err)
			}
			if string(message) != want || !bytes.HasPrefix(b, []byte("before")) {
				t.Errorf("%d bytes: wrapping changes the message, or what is before it", length)
			}
			if got, err := server.Unwrap(b[len("before"):]); err != nil || string(got) != want {
				t.Errorf("%d bytes became %d, %v", length, len(got), err)
			}
		}
	})
}

func TestLayersAllocateNothing(t *testing.T) {
	eachLayer(t, func(t *testing.T, client, server Layer) {
		for _, length := range []int{100, 10_000} {
			message := make([]byte, length)
			b := make([]byte, 0, 2*length)
			if n := testing.AllocsPerRun(10, func() {
				token, err := client.AppendWrap(b, message)
				if err == nil {
					_, err = server.Unwrap(token)
				}
				if err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%v allocations for %d bytes", n, length)
			}
		}
	})
}

// TestNoNumberComesTwice would catch a sequence that starts again after 2^32 messages, so
// that the first message would be accepted again.
func TestNoNumberComesTwice(t *testing.T) {
	skip := func(l Layer) {
		switch l := l.(type) {
		case *digestLayer:
			l.send.sequence.count, l.receive.sequence.count = maxMessages-1, maxMessages-1
		case *gssLayer:
			l.send.sequence.count, l.receive.sequence.count = maxMessages-1, maxMessages-1
		}
	}
	eachLayer(t, func(t *testing.T, client, server Layer) {
		skip(client)
		skip(server)
		token, err := client.AppendWrap(nil, []byte("the last"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := server.Unwrap(bytes.Clone(token)); err != nil || string(got) != "the last" {
			t.Errorf("the last message became %q, %v", got, err)
		}
		if b, err := client.AppendWrap([]byte("before"), []byte("one more")); !errors.Is(err, ErrExhausted) || string(b) != "before" {
			t.Errorf("one more: %q, %v, want ErrExhausted", b, err)
		}
		if got, err := server.Unwrap(token); !errors.Is(err, ErrExhausted) {
			t.Errorf("one more: %q, %v, want ErrExhausted", got, err)
		}
	})
}
