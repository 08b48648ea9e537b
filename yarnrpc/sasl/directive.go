package sasl

import (
	"fmt"
	"strings"
)

// directives are the key=value pairs of a DIGEST-MD5 message in order (RFC 2831 §7.1). A
// key may occur more than once.
type directives []directive

type directive struct{ key, value string }

// maxDigestMessage bounds a message, in bytes. RFC 2831 limits challenges to 2048 bytes
// and responses to 4096.
const maxDigestMessage = 4096

// parseDirectives reads pairs separated by commas, with optional blanks. Values
// are tokens, or quoted with backslashes before characters that need them.
func parseDirectives(message []byte) (directives, error) {
	if len(message) > maxDigestMessage {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrChallenge, len(message), maxDigestMessage)
	}
	var ds directives
	rest := string(message)
	for {
		rest = strings.TrimLeft(rest, ", \t\r\n")
		if rest == "" {
			return ds, nil
		}
		key, after, found := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" || strings.ContainsAny(key, `," `) {
			return nil, fmt.Errorf("%w: no key=value in %q", ErrChallenge, rest)
		}
		value, remainder, err := takeValue(strings.TrimLeft(after, " \t\r\n"))
		if err != nil {
			return nil, err
		}
		ds = append(ds, directive{strings.ToLower(key), value})
		rest = strings.TrimLeft(remainder, " \t\r\n")
		if rest != "" && rest[0] != ',' {
			return nil, fmt.Errorf("%w: no comma before %q", ErrChallenge, rest)
		}
	}
}

func takeValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t\r\n")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			i++
			if i == len(s) {
				return "", "", fmt.Errorf("%w: ends after a backslash", ErrChallenge)
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", fmt.Errorf("%w: a quote is not closed", ErrChallenge)
}

// get returns the first value of a key.
func (ds directives) get(key string) (string, bool) {
	for _, d := range ds {
		if d.key == key {
			return d.value, true
		}
	}
	return "", false
}

// once returns the value of a key that must occur exactly once.
func (ds directives) once(key string) (string, error) {
	count, value := 0, ""
	for _, d := range ds {
		if d.key == key {
			count, value = count+1, d.value
		}
	}
	if count != 1 {
		return "", fmt.Errorf("%w: %d times %s", ErrChallenge, count, key)
	}
	return value, nil
}

// list returns the elements of a comma-separated value.
func list(value string) []string {
	var out []string
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// appendPlain and appendQuoted add a pair, after a comma unless it is the first.
func appendPlain(b []byte, key, value string) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = append(b, key...)
	b = append(b, '=')
	return append(b, value...)
}

func appendQuoted(b []byte, key, value string) []byte {
	value = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
	return appendPlain(b, key, `"`+value+`"`)
}
