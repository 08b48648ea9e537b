package hadoopconf

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// shortNames reads the rules from a section head "[authentication mechanism] rules" of
// testdata/java/shortnames.txt.
func shortNames(t *testing.T, head string) (*ShortNames, error) {
	t.Helper()
	settings, rules, _ := strings.Cut(strings.TrimPrefix(head, "["), "] ")
	authentication, mechanism, _ := strings.Cut(settings, " ")
	properties := map[string]string{"hadoop.security.authentication": authentication}
	for name, value := range map[string]string{
		"hadoop.security.auth_to_local":           rules,
		"hadoop.security.auth_to_local.mechanism": mechanism,
	} {
		if value != "unset" {
			properties[name] = value
		}
	}
	return new(Conf).With("test", properties).ShortNames("EXAMPLE.COM")
}

// The record holds Hadoop's own answers. integration/rpc/conformance asks Hadoop again.
func TestShortNamesAreHadoops(t *testing.T) {
	t.Parallel()
	record, err := os.ReadFile("testdata/java/shortnames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names *ShortNames
	head, answers := "", 0
	for line := range strings.Lines(string(record)) {
		question, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		switch {
		case question == "" || strings.HasPrefix(question, "#"):
		case strings.HasPrefix(question, "["):
			head = question
			var bad *ValueError
			if names, err = shortNames(t, head); (err != nil) != (want == "refused") || err != nil && !errors.As(err, &bad) {
				t.Fatalf("%s: %v, Hadoop: %q", head, err, want)
			}
		default:
			got, err := names.Short(question)
			if err != nil {
				got = "error"
			}
			if got != want {
				t.Errorf("%s\n%s is %s (%v), Hadoop: %s", head, question, got, err, want)
			}
			answers++
		}
	}
	if answers < 50 {
		t.Errorf("only %d principals in the record", answers)
	}
}

// Go cannot keep the meaning that these rules have in Java. They would give wrong user
// names.
func TestRulesThatOnlyJavaUnderstandsAreRefused(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		`RULE:[1:$1]([a-z&&[^x]]+)`:         "an intersection of sets",
		`RULE:[1:$1]([a-z[0-9]]+)`:          "a set within a set",
		`RULE:[1:$1]([[:alpha:]]+)`:         "a set within a set",
		`RULE:[1:$1]([]x]+)`:                "a set that begins with ]",
		`RULE:[1:$1](a++)`:                  "syntax that Go and Java share",
		`RULE:[1:$1]s/(a)\1/b/`:             "a backreference",
		`RULE:[1:$1]s/(?=a)b/c/`:            "syntax that Go and Java share",
		`RULE:[1:$1]s/(?<!a)b/c/`:           "syntax that Go and Java share",
		`RULE:[1:$1]s/(?>a)b/c/`:            "syntax that Go and Java share",
		`RULE:[1:$1]s/(?P<x>a)/c/`:          "Go's syntax",
		`RULE:[1:$1]s/(?U)\w/c/`:            "the flag U",
		`RULE:[1:$1]s/x*/c/g`:               "the empty text",
		`RULE:[1:$1]s/(a)/$2/`:              "$ that names no group",
		`RULE:[1:$1]s/a/$/`:                 "$ that names no group",
		`RULE:[1:$1]s/a/${x}/`:              "$ that names no group",
		`RULE:[1:$1]s/a/b\/`:                "ends in a backslash",
		`RULE:[1:$1](\p{javaLowerCase}+)`:   "syntax that Go and Java share",
		`RULE:[1:$1](\h)`:                   "syntax that Go and Java share",
		`RULE:[99999999999999999999:$1](a)`: "not a number of components",
	} {
		if _, err := shortNames(t, "[kerberos hadoop] "+rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
	for _, rules := range []string{`RULE:[1:$1]([\[&a]+)`, `RULE:[1:$1](\Q[[&&\E.*)`, `RULE:[1:$1]([^a\]]&&[b]?)`} {
		if _, err := shortNames(t, "[kerberos hadoop] "+rules); err != nil {
			t.Errorf("%s: %v", rules, err)
		}
	}
}

func TestAPrincipalWithoutRuleIsNamed(t *testing.T) {
	t.Parallel()
	names, err := shortNames(t, "[kerberos hadoop] DEFAULT")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := names.Short("alice@OTHER.COM"); !errors.Is(err, ErrNoRule) || !strings.Contains(err.Error(), "alice@OTHER.COM") {
		t.Errorf("%v, want ErrNoRule and the principal", err)
	}
}

// FuzzShortNames reads arbitrary rules and principals. It would catch a panic and, with
// the mechanism hadoop, a user name that holds a host or a realm.
func FuzzShortNames(f *testing.F) {
	record, err := os.ReadFile("testdata/java/shortnames.txt")
	if err != nil {
		f.Fatal(err)
	}
	rules := ""
	for line := range strings.Lines(string(record)) {
		question, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		if strings.HasPrefix(question, "[") {
			_, rules, _ = strings.Cut(question, "] ")
			f.Add(rules, "alice@EXAMPLE.COM")
		} else {
			f.Add(rules, question)
		}
	}
	f.Fuzz(func(t *testing.T, rules, principal string) {
		names, err := new(Conf).With("fuzz", map[string]string{"hadoop.security.auth_to_local": rules}).ShortNames("EXAMPLE.COM")
		if err != nil {
			return
		}
		short, err := names.Short(principal)
		if err == nil && short != principal && strings.ContainsAny(short, "/@") {
			t.Errorf("rules %q make %q of %q", rules, short, principal)
		}
	})
}
