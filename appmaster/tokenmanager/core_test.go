package tokenmanager

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

var testEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// testConfig has the defaults.
func testConfig() Config {
	return Config{RenewalRatio: 0.75, RetryBackoff: time.Hour, Principal: "alice@EXAMPLE.COM"}
}

func TestCoreTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := &script{t: t, config: testConfig(), now: testEpoch}
		return s.command
	})
}

// script drives a core by commands, as its transcripts have them. Times are told from
// the beginning of the transcript, days by 24 h:
//
//	config ratio=X backoff=DURATION          before the start
//	start [login] [TOKENS issued=T ends=T]   TOKENS: "ns1=a,ns2=b", by service
//	obtained TOKENS ends=T                   the provider's answer; "none" for no tokens
//	failed [TOKENS ends=T] TEXT              likewise, in part
//	wait DURATION                            with the wakes that fall due
//	woken                                    out of turn
//	clock DURATION                           is set forward, or back, past no wake
type script struct {
	t      *testing.T
	config Config
	core   actortest.Stepper[event, effect]
	now    time.Time
	wake   time.Time
}

func (s *script) command(line string) []string {
	s.t.Helper()
	options := map[string]string{}
	var words []string
	for w := range strings.FieldsSeq(line) {
		name, value, is := strings.Cut(w, "=")
		if is && slices.Contains([]string{"ratio", "backoff", "issued", "ends"}, name) {
			options[name] = value
		} else {
			words = append(words, w)
		}
	}
	at := func(name string) time.Time {
		if options[name] == "" {
			return time.Time{}
		}
		return testEpoch.Add(s.duration(options[name]))
	}
	switch words[0] {
	case "config":
		ratio, err := strconv.ParseFloat(options["ratio"], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.config.RenewalRatio, s.config.RetryBackoff = ratio, s.duration(options["backoff"])
		return nil
	case "start":
		login := len(words) > 1 && words[1] == "login"
		tokens := tokensOf(words[1:])
		first := life{issued: at("issued"), ends: at("ends")}
		for _, alias := range slices.Sorted(maps.Keys(tokens.Tokens)) {
			first.service = alias
			break
		}
		s.core.Core = newCore(s.config, login, tokens, first)
		return s.step(started{})
	case "obtained":
		return s.step(answered{Obtained: Obtained{Credentials: tokensOf(words[1:]), Ends: at("ends")}})
	case "failed":
		tokens := tokensOf(words[1:])
		text := strings.Join(slices.DeleteFunc(words[1:], func(w string) bool { return strings.Contains(w, "=") }), " ")
		return s.step(answered{Obtained: Obtained{Credentials: tokens, Ends: at("ends")}, Err: errors.New(text)})
	case "wait":
		return s.wait(s.duration(words[1]))
	case "woken":
		s.core.Rang()
		return s.step(woken{})
	case "clock":
		s.now = s.now.Add(s.duration(words[1]))
		return nil
	}
	s.t.Fatalf("unknown command %q", line)
	return nil
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// tokensOf parses "ns1=a,ns2=b" among words.
func tokensOf(words []string) *creds.Credentials {
	c := creds.New()
	for _, w := range words {
		if !strings.Contains(w, "=") {
			continue
		}
		for one := range strings.SplitSeq(w, ",") {
			service, text, _ := strings.Cut(one, "=")
			c.Tokens[service] = token(service, text)
		}
	}
	return c
}

func token(service, identifier string) *creds.Token {
	return &creds.Token{Kind: creds.KindHDFSDelegation, Service: service, Identifier: []byte(identifier)}
}

// show formats tokens in the form that tokensOf reads.
func show(c *creds.Credentials) string {
	var all []string
	for _, alias := range slices.Sorted(maps.Keys(c.Tokens)) {
		all = append(all, alias+"="+string(c.Tokens[alias].Identifier))
	}
	return strings.Join(all, ",")
}

// wait advances the time, and wakes the core at its alarms.
func (s *script) wait(d time.Duration) []string {
	var lines []string
	end := s.now.Add(d)
	for !s.wake.IsZero() && !s.wake.After(end) {
		s.now, s.wake = s.wake, time.Time{}
		s.core.Rang()
		for _, line := range s.step(woken{}) {
			lines = append(lines, sinceEpoch(s.now)+": "+line)
		}
	}
	s.now = end
	return lines
}

func (s *script) step(event event) []string {
	var lines []string
	for _, effect := range s.core.All(s.now, event) {
		if w, is := effect.(actortest.Wake); is {
			s.wake = w.At
		}
		lines = append(lines, describe(effect))
	}
	return lines
}

func describe(effect any) string {
	switch e := effect.(type) {
	case obtain:
		return "obtain"
	case install:
		return fmt.Sprintf("install %s, until %s", show(e.Tokens), sinceEpoch(e.Ends))
	case usable:
		return "usable"
	case actortest.Wake:
		return "wake at " + sinceEpoch(e.At)
	case tellFailure:
		return fmt.Sprintf("failure: %v; tokens end %s (ended: %t), again at %s", e.Err, sinceEpoch(e.Ends), e.Ended, sinceEpoch(e.Again))
	case tellEnd:
		return fmt.Sprintf("token of %s ends %s (ended: %t)", e.Service, sinceEpoch(e.Ends), e.Ended)
	}
	return fmt.Sprintf("unknown effect %T", effect)
}

func sinceEpoch(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Sub(testEpoch).String()
}
