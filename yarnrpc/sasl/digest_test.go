package sasl

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
)

// The two examples of RFC 2831 §4.
func TestProofsAreThoseOfTheRFC(t *testing.T) {
	for _, tc := range []struct {
		name           string
		login          login
		client, server string
	}{
		{
			name: "IMAP",
			login: login{
				user: "chris", realm: "elwood.innosoft.com", password: "secret", qop: QOPAuthentication,
				nonce: "OA6MG9tEQGm2hh", cnonce: "OA6MHXh6VqTrRk", uri: "imap/elwood.innosoft.com",
			},
			client: "d388dad90d4bbd760a152321f2143af7",
			server: "ea40f60335c427b5527b84dbabcdfffd",
		},
		{
			name: "ACAP",
			login: login{
				user: "chris", realm: "elwood.innosoft.com", password: "secret", qop: QOPAuthentication,
				nonce: "OA9BSXrbuRhWay", cnonce: "OA9BSuZWMSpW8m", uri: "acap/elwood.innosoft.com",
			},
			client: "6084c6db3fede7352c551284490fd0fc",
			server: "2f0b3d7c3c2e486600ef710726aa2eae",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.login.clientProof(); got != tc.client {
				t.Errorf("client: got %s, want %s", got, tc.client)
			}
			if got := tc.login.serverProof(); got != tc.server {
				t.Errorf("server: got %s, want %s", got, tc.server)
			}
		})
	}
}

// transcript is one login of testdata/jdk.txt, which RecordDigest.java wrote with the
// JDK's own client and server.
type transcript struct {
	name                         string
	challenge, response, success []byte
	messages, client, server     [][]byte
}

func transcripts(t *testing.T) []*transcript {
	f, err := os.Open("testdata/jdk.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*transcript
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if key == "qop" {
			all = append(all, &transcript{name: strings.TrimSpace(value)})
			continue
		}
		b, err := hex.DecodeString(value)
		if err != nil {
			t.Fatal(err)
		}
		now := all[len(all)-1]
		switch key {
		case "challenge":
			now.challenge = b
		case "response":
			now.response = b
		case "success":
			now.success = b
		case "message":
			now.messages = append(now.messages, b)
		case "client":
			now.client = append(now.client, b)
		case "server":
			now.server = append(now.server, b)
		default:
			t.Fatalf("unknown line %q", key)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("%d logins recorded, want 4", len(all))
	}
	return all
}

// Every byte must be equal to the JDK's for the same nonce. A wrong key, padding or
// chaining fails here, and not only against a server with privacy.
func TestClientSaysAndUnderstandsWhatTheJDKDoes(t *testing.T) {
	for _, tr := range transcripts(t) {
		t.Run(tr.name, func(t *testing.T) {
			theirs, err := parseDirectives(tr.response)
			if err != nil {
				t.Fatal(err)
			}
			cnonce, _ := theirs.get("cnonce")
			qop, _ := theirs.get("qop")
			if cipher, ok := theirs.get("cipher"); ok { // ours would be rc4 always
				tr.challenge = bytes.Replace(tr.challenge, []byte("3des,rc4,des"), []byte(cipher+",des"), 1)
			}
			client := &DigestMD5{
				User:     EncodeCredential([]byte("identifier")),
				Password: EncodeCredential([]byte("password")),
				URI:      "/default",
				QOPs:     []QOP{QOP(qop)},
				newNonce: func() string { return cnonce },
			}
			response, err := client.Start(tr.challenge)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(response, tr.response) {
				t.Errorf("response:\ngot  %s\nwant %s", response, tr.response)
			}
			layer, err := client.Finish(tr.success)
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.messages) == 0 {
				if layer != nil {
					t.Error("auth alone gave a layer")
				}
				return
			}
			for i, message := range tr.messages {
				wrapped, err := layer.AppendWrap(nil, message)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(wrapped, tr.client[i]) {
					t.Errorf("wrap %q:\ngot  %x\nwant %x", message, wrapped, tr.client[i])
				}
				plain, err := layer.Unwrap(tr.server[i])
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(plain, message) {
					t.Errorf("unwrap: got %q, want %q", plain, message)
				}
			}
		})
	}
}

// pair logs a client in at the server of this package.
func pair(t testing.TB, qop QOP) (client, server Layer) {
	t.Helper()
	s := &DigestMD5Server{Password: func(string) (string, error) { return "secret", nil }, URI: "/default", QOPs: []QOP{qop}}
	c := &DigestMD5{User: "u", Password: "secret", URI: "/default", QOPs: []QOP{qop}}
	response, err := c.Start(s.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	user, proof, server, err := s.Verify(response)
	if err != nil || user != "u" {
		t.Fatal(user, err)
	}
	if client, err = c.Finish(proof); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestLayersRefuseWhatWasTamperedWith(t *testing.T) {
	for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
		for name, spoil := range map[string]func(first, second []byte) []byte{
			"a bit flipped in the message": func(first, _ []byte) []byte { first[0] ^= 1; return first },
			"a bit flipped in the mac":     func(first, _ []byte) []byte { first[len(first)-8] ^= 1; return first },
			"another type":                 func(first, _ []byte) []byte { first[len(first)-5] = 2; return first },
			"one token lost":               func(_, second []byte) []byte { return second },
			"cut short":                    func(first, _ []byte) []byte { return first[1:] },
			"a few bytes":                  func(first, _ []byte) []byte { return first[:3] },
		} {
			t.Run(string(qop)+" "+name, func(t *testing.T) {
				client, server := pair(t, qop)
				first, err := client.AppendWrap(nil, []byte("message"))
				if err != nil {
					t.Fatal(err)
				}
				second, err := client.AppendWrap(nil, []byte("message"))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := server.Unwrap(spoil(first, second)); !errors.Is(err, ErrTampered) {
					t.Errorf("got %q, %v, want ErrTampered", got, err)
				}
			})
		}
		t.Run(string(qop)+" repeated", func(t *testing.T) {
			client, server := pair(t, qop)
			token, err := client.AppendWrap(nil, []byte("message"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := server.Unwrap(bytes.Clone(token)); err != nil || string(got) != "message" {
				t.Fatalf("got %q, %v", got, err)
			}
			if got, err := server.Unwrap(token); !errors.Is(err, ErrTampered) {
				t.Errorf("got %q, %v, want ErrTampered", got, err)
			}
		})
	}
}

func TestServerRefusesWhoDoesNotKnowThePassword(t *testing.T) {
	fine := DigestMD5{User: "u", Password: "secret", URI: "/default"}
	for name, tc := range map[string]struct {
		change func(*DigestMD5)
		want   error
	}{
		"right":                   {func(*DigestMD5) {}, nil},
		"wrong password":          {func(c *DigestMD5) { c.Password = "guess" }, ErrMismatch},
		"wrong service":           {func(c *DigestMD5) { c.URI = "hdfs/default" }, ErrChallenge},
		"protection not on offer": {func(c *DigestMD5) { c.QOPs = []QOP{QOPPrivacy} }, ErrProtection},
	} {
		t.Run(name, func(t *testing.T) {
			client := fine
			tc.change(&client)
			server := &DigestMD5Server{Password: func(string) (string, error) { return "secret", nil }, URI: "/default"}
			response, err := client.Start(server.Challenge())
			if err == nil {
				_, _, _, err = server.Verify(response)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if err == nil {
				if _, _, _, err := server.Verify(response); !errors.Is(err, ErrChallenge) {
					t.Errorf("the same response again: got %v, want ErrChallenge", err)
				}
			}
		})
	}
}

// A server that cannot prove that it knows the password may be an impostor.
func TestClientRefusesServersThatProveNothing(t *testing.T) {
	challenge := `realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`
	for name, token := range map[string]string{
		"no proof":    "",
		"wrong proof": "rspauth=00000000000000000000000000000000",
		"two proofs":  "rspauth=1,rspauth=2",
		"nonsense":    "rspauth",
	} {
		client := &DigestMD5{User: "u", Password: "p", URI: "/default"}
		if _, err := client.Finish([]byte(token)); !errors.Is(err, ErrChallenge) {
			t.Errorf("%s before a challenge: got %v, want ErrChallenge", name, err)
		}
		if _, err := client.Start([]byte(challenge)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Finish([]byte(token)); !errors.Is(err, ErrChallenge) && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := client.Next([]byte(challenge)); !errors.Is(err, ErrChallenge) {
			t.Errorf("a second challenge: got %v, want ErrChallenge", err)
		}
	}
}

func TestChallengesThatBreakTheRulesAreErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		challenge string
		want      error
	}{
		"no nonce":            {`algorithm=md5-sess`, ErrChallenge},
		"two nonces":          {`nonce="a",nonce="b",algorithm=md5-sess`, ErrChallenge},
		"another algorithm":   {`nonce="a",algorithm=sha`, ErrChallenge},
		"no algorithm":        {`nonce="a"`, ErrChallenge},
		"a tiny buffer":       {`nonce="a",algorithm=md5-sess,maxbuf=8`, ErrChallenge},
		"a token a byte":      {`nonce="a",algorithm=md5-sess,maxbuf=25`, ErrChallenge},
		"a quote left open":   {`nonce="a,algorithm=md5-sess`, ErrChallenge},
		"a backslash at last": {`nonce="a\`, ErrChallenge},
		"no equals sign":      {`nonce`, ErrChallenge},
		"no comma":            {`nonce="a"algorithm=md5-sess`, ErrChallenge},
		"too long":            {`nonce="` + strings.Repeat("a", 5000) + `",algorithm=md5-sess`, ErrChallenge},
		"no cipher we have":   {`nonce="a",algorithm=md5-sess,qop="auth-conf",cipher="des,rc4-40"`, ErrProtection},
		"no QOP we want":      {`nonce="a",algorithm=md5-sess,qop="auth-int"`, ErrProtection},
	} {
		t.Run(name, func(t *testing.T) {
			client := &DigestMD5{User: "u", Password: "p", URI: "/default", QOPs: []QOP{QOPPrivacy, QOPAuthentication}}
			if response, err := client.Start([]byte(tc.challenge)); !errors.Is(err, tc.want) {
				t.Errorf("got %q, %v, want %v", response, err, tc.want)
			}
		})
	}
}

func TestWithoutAnOfferedChallengeTheFirstMessageIsEmpty(t *testing.T) {
	client := &DigestMD5{User: "u", Password: "p", URI: "/default"}
	response, err := client.Start(nil)
	if err != nil || response == nil || len(response) != 0 {
		t.Errorf("got %q, %v", response, err)
	}
}

func TestTokensTooLongToLogInWithAreErrors(t *testing.T) {
	client := &DigestMD5{User: strings.Repeat("u", 4000), Password: "p", URI: "/default"}
	if _, err := client.Start([]byte(`nonce="a",algorithm=md5-sess`)); err == nil {
		t.Error("a response that servers refuse was sent")
	}
}

func TestProtectionIsReadAsHadoopWritesIt(t *testing.T) {
	got, err := ParseProtection("privacy, Integrity,authentication")
	if err != nil || len(got) != 3 || got[0] != QOPPrivacy || got[1] != QOPIntegrity || got[2] != QOPAuthentication {
		t.Errorf("got %v, %v", got, err)
	}
	for _, value := range []string{"", "auth", "privacy,"} {
		if got, err := ParseProtection(value); err == nil {
			t.Errorf("%q: got %v", value, got)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add([]byte(`realm="default",nonce="a\"b",qop="auth,auth-conf",charset=utf-8,cipher="3des,rc4",algorithm=md5-sess`))
	f.Add([]byte(`nonce=a , algorithm=md5-sess, maxbuf=70`))
	f.Add([]byte(`, ,`))
	f.Fuzz(func(t *testing.T, challenge []byte) {
		client := &DigestMD5{User: "u", Password: "p", URI: "/default", QOPs: []QOP{QOPPrivacy, QOPAuthentication}}
		response, err := client.Next(challenge)
		if err != nil {
			return
		}
		ds, err := parseDirectives(response)
		if err != nil {
			t.Fatalf("our response does not parse: %v", err)
		}
		if nonce, _ := ds.get("nonce"); nonce != client.login.nonce {
			t.Errorf("nonce %q became %q", client.login.nonce, nonce)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add([]byte(`charset=utf-8,username="u",realm="default",nonce="n",nc=00000001,cnonce="c",digest-uri="/default",response=0,qop=auth`))
	f.Fuzz(func(t *testing.T, response []byte) {
		server := &DigestMD5Server{Password: func(string) (string, error) { return "secret", nil }, URI: "/default"}
		server.Challenge()
		server.nonce = "n"
		if user, _, _, err := server.Verify(response); err == nil {
			t.Errorf("%s logged in without the password", user)
		}
	})
}

func FuzzUnwrap(f *testing.F) {
	f.Add([]byte("123456789012345678901234567890"), true)
	f.Add([]byte{0, 1, 0, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, token []byte, private bool) {
		l := login{user: "u", qop: QOPIntegrity}
		if private {
			l.qop, l.cipher = QOPPrivacy, cipher3DES
		}
		layer := newLayer(l, clientToServer, serverToClient, defaultMaxBuffer)
		if message, err := layer.Unwrap(bytes.Clone(token)); err == nil && len(token) > 0 {
			t.Errorf("a forged token gave %q", message)
		}
	})
}

// A NameNode chooses the cipher for the transfer of blocks.
func TestTheCipherIsTheFirstOfOursThatTheServerOffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours, offered string
		want          string // empty: none
	}{
		"the only one":       {"rc4", "3des,rc4", cipherRC4},
		"another only one":   {"3des", "rc4,3des", cipher3DES},
		"in our order":       {"rc4,3des", "3des,rc4", cipherRC4},
		"what there is":      {"rc4,3des", "3des,des", cipher3DES},
		"none of ours":       {"rc4", "3des,des", ""},
		"none that there is": {"des", "3des,rc4,des", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &DigestMD5{User: "u", Password: "p", URI: "/default", QOPs: []QOP{QOPPrivacy}, Ciphers: list(c.ours)}
			response, err := d.Next([]byte(`nonce="a",algorithm=md5-sess,qop="auth-conf",cipher="` + c.offered + `"`))
			if c.want == "" {
				if !errors.Is(err, ErrProtection) {
					t.Errorf("got %q and %v, want ErrProtection", response, err)
				}
				return
			}
			if err != nil || !strings.HasSuffix(string(response), `,cipher="`+c.want+`"`) {
				t.Errorf("got %q and %v, want %s", response, err, c.want)
			}
		})
	}
}
