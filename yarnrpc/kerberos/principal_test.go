package kerberos

import (
	"errors"
	"strings"
	"testing"
)

func TestParsePrincipal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Principal{
		"alice":             {Service: "alice"},
		"alice@R":           {Service: "alice", Realm: "R"},
		"rm/host":           {Service: "rm", Host: "host"},
		"rm/host.example@R": {Service: "rm", Host: "host.example", Realm: "R"},
	} {
		got, err := ParsePrincipal(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "@R", "/host@R", "rm/@R", "rm/host@", "a/b/c@R", "a@b@R", "a@R/b", "a/b/c"} {
		if got, err := ParsePrincipal(text); !errors.Is(err, ErrMalformedPrincipal) {
			t.Errorf("%q: %+v, %v, want an error", text, got, err)
		}
	}
}

// Each row is SecurityUtil#getServerPrincipal's answer for a server whose address is
// that of NN.Example.
func TestServerPrincipal(t *testing.T) {
	t.Parallel()
	for configured, want := range map[string]string{
		"nn/_HOST@R":    "nn/nn.example@R",
		"nn/other@R":    "nn/other@R",
		"nn/_HOST":      "nn/_HOST",
		"nn/_host@R":    "nn/_host@R",
		"_HOST/nn@R":    "_HOST/nn@R",
		"nn/_HOST.x@R":  "nn/_HOST.x@R",
		"a/_HOST/b@R":   "a/_HOST/b@R",
		"nn@R":          "nn@R",
		"":              "",
		"nn/_HOST@":     "nn/_HOST@",
		"hdfs@_HOST@R":  "hdfs/nn.example@R", // Java splits at either sign
		"hdfs//_HOST@R": "hdfs//_HOST@R",
	} {
		asked := false
		got, err := ServerPrincipal(configured, func() (string, error) { asked = true; return "NN.Example", nil })
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", configured, got, err, want)
		}
		if asked != (got != configured) {
			t.Errorf("%q: whether DNS was asked: %t", configured, asked)
		}
	}
	for _, name := range []string{"", "x"} {
		cause := errors.New("no reverse name")
		if name == "" {
			cause = nil
		}
		if got, err := ServerPrincipal("nn/_HOST@R", func() (string, error) { return name, cause }); err == nil {
			t.Errorf("without a name: %q, want an error", got)
		}
	}
}

// A wrong result here would send a user's commands to an impostor, or to no server.
func TestCheckServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		advertised, configured, pattern string
		ok                              bool
	}{
		"the host of the address":       {"rm/rm1.example@R", "rm/_HOST@R", "", true},
		"a host that is written":        {"rm/other@R", "rm/other@R", "", true},
		"another host":                  {"rm/rm2.example@R", "rm/_HOST@R", "", false},
		"another service":               {"nm/rm1.example@R", "rm/_HOST@R", "", false},
		"another realm":                 {"rm/rm1.example@S", "rm/_HOST@R", "", false},
		"upper case":                    {"rm/RM1.example@R", "rm/_HOST@R", "", false},
		"nothing configured":            {"rm/rm1.example@R", "", "", false},
		"a principal without a host":    {"rm@R", "rm@R", "", false},
		"a pattern":                     {"nn/any.example@R", "nn/none@R", "nn/*@R", true},
		"a pattern for all":             {"nn/any.example@R", "", "*", true},
		"a pattern that does not match": {"nn/any.example@S", "nn/_HOST@R", "nn/*@R", false},
		"a pattern is for all of it":    {"xnn/any@Rx", "", "nn/*@R", false},
		"a dot is a dot":                {"nn/aXexample@R", "", "nn/*.example@R", false},
		"alternatives":                  {"dn/b@R", "", "{nn,dn}/?@{R,S}", true},
		"none of the alternatives":      {"jn/b@R", "", "{nn,dn}/?@{R,S}", false},
		"a set":                         {"nn/n7@R", "", "nn/n[0-9]@R", true},
		"not in a set":                  {"nn/nx@R", "", "nn/n[!0-9]@R", true},
		"in a set that is excluded":     {"nn/n7@R", "", "nn/n[^0-9]@R", false},
		"an escaped star":               {"nn/*@R", "", `nn/\*@R`, true},
		"an escaped star is no other":   {"nn/x@R", "", `nn/\*@R`, false},
		"a comma outside of braces":     {"nn/a,b@R", "", "nn/a,?@R", true},
		"a brace that closes nothing":   {"nn/a}@R", "", "nn/a}@R", true},
		"signs of regular expressions":  {"n$(+|)^/é@R", "", "n$(+|)^/é@R", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Server{Principal: c.configured, Pattern: c.pattern}.Check(c.advertised, func() (string, error) { return "RM1.example", nil })
			var mismatch *ServerMismatchError
			if c.ok && err != nil || !c.ok && !errors.As(err, &mismatch) {
				t.Errorf("%v, want it accepted: %t", err, c.ok)
			}
		})
	}
	for text, mismatch := range map[string]ServerMismatchError{
		"nn/a@R, but the Hadoop configuration has no principal for it":              {Advertised: "nn/a@R"},
		"nn/a@R, but p.principal is not set: add it":                                {Advertised: "nn/a@R", Property: "p.principal"},
		"nn/a@R, but p.principal is hdfs/a@R: correct the site file":                {Advertised: "nn/a@R", Want: "hdfs/a@R", Property: "p.principal"},
		"nn/a is in realm R according to krb5.conf, but p.principal is nn/a@S: cor": {Advertised: "nn/a@R", Want: "nn/a@S", Property: "p.principal"},
		"but the Hadoop configuration wants nn/*@S":                                 {Advertised: "nn/a@R", Want: "nn/*@S"},
	} {
		if got := mismatch.Error(); !strings.Contains(got, text) {
			t.Errorf("got %q, want %q in it", got, text)
		}
	}
	for _, pattern := range []string{"nn/[a@R", "nn/{a@R", `nn/\`, "nn/[z-a]@R"} {
		var mismatch *ServerMismatchError
		if err := (Server{Pattern: pattern}).Check("nn/a@R", nil); err == nil || errors.As(err, &mismatch) {
			t.Errorf("pattern %q: %v, want an error about the pattern", pattern, err)
		}
	}
}
