package hadoopconf

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// compileJava compiles a regular expression of java.util.regex. Syntax that Go does not
// have (lookaround, backreferences, possessive and atomic matching) or reads differently
// (sets within sets, named groups in Go's syntax) is an error.
func compileJava(expression string) (*regexp.Regexp, error) {
	if err := refuseJavaOnly(expression); err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", expression, err)
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w: use only syntax that Go and Java share", expression, err)
	}
	return compiled, nil
}

// refuseJavaOnly finds syntax that Go's parser would accept with another meaning.
func refuseJavaOnly(expression string) error {
	set := false // within [ ]
	for i := 0; i < len(expression); i++ {
		rest := expression[i:]
		switch {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return nil
			}
			i += end + 1
		case rest[0] == '\\':
			if len(rest) > 1 && '1' <= rest[1] && rest[1] <= '9' {
				return errors.New("a backreference, which Go does not support")
			}
			i++
		case set && rest[0] == '[':
			return errors.New("a set within a set: write one set")
		case set && strings.HasPrefix(rest, "&&"):
			return errors.New("an intersection of sets: write one set")
		case set:
			set = rest[0] != ']'
		case rest[0] == '[':
			set = true
			if body := strings.TrimPrefix(rest[1:], "^"); strings.HasPrefix(body, "]") {
				return errors.New("a set that begins with ]: write \\]")
			}
			if strings.HasPrefix(rest, "[^") {
				i++
			}
		case strings.HasPrefix(rest, "(?P"):
			return errors.New("a group name in Go's syntax: write (?<name>…)")
		case strings.HasPrefix(rest, "(?"):
			flags, _, _ := strings.Cut(rest, ")")
			flags, _, _ = strings.Cut(flags, ":")
			if strings.Contains(flags, "U") && !strings.Contains(flags, "<") {
				return errors.New("the flag U, which means something else in Go")
			}
		}
	}
	return nil
}

// compileJavaWhole compiles an expression that must match a text from end to end
// (Matcher#matches).
func compileJavaWhole(expression string) (*regexp.Regexp, error) {
	if _, err := compileJava(expression); err != nil {
		return nil, err
	}
	return compileJava(`\A(?:` + expression + `)\z`)
}

// javaReplacement is the second half of s/from/to/ as Matcher#replaceAll reads it. $1 and
// ${name} stand for groups. A backslash makes the next character stand for itself.
type javaReplacement []replacementPart

// replacementPart is a group, or literal text if group is negative.
type replacementPart struct {
	literal string
	group   int
}

func parseJavaReplacement(text string, from *regexp.Regexp) (javaReplacement, error) {
	var parts javaReplacement
	bad := func(reason string) (javaReplacement, error) {
		return nil, fmt.Errorf("replacement %q: %s", text, reason)
	}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				return bad("ends in a backslash")
			}
			parts = append(parts, replacementPart{text[i : i+1], -1})
			i++
		case '$':
			group, length := groupReference(text[i+1:], from)
			if group < 0 {
				return bad("a $ that names no group of the expression: write \\$ for a plain $")
			}
			parts = append(parts, replacementPart{"", group})
			i += 1 + length
		default:
			parts = append(parts, replacementPart{text[i : i+1], -1})
			i++
		}
	}
	return parts, nil
}

// groupReference reads the text after a $: {name}, or a number with as many digits as
// match an existing group. group is -1 if there is no such group.
func groupReference(text string, from *regexp.Regexp) (group, length int) {
	if name, _, ok := strings.Cut(strings.TrimPrefix(text, "{"), "}"); ok && strings.HasPrefix(text, "{") {
		return from.SubexpIndex(name), len(name) + len("{}")
	}
	group = -1
	for length < len(text) && '0' <= text[length] && text[length] <= '9' {
		n, err := strconv.Atoi(text[:length+1])
		if err != nil || n > from.NumSubexp() {
			break
		}
		group = n
		length++
	}
	return group, length
}

// replace replaces the first match in the text, or all matches.
func (r javaReplacement) replace(from *regexp.Regexp, text string, all bool) string {
	matches := 1
	if all {
		matches = -1
	}
	var replaced strings.Builder
	end := 0
	for _, m := range from.FindAllStringSubmatchIndex(text, matches) {
		replaced.WriteString(text[end:m[0]])
		for _, part := range r {
			replaced.WriteString(part.literal)
			if part.group >= 0 && m[2*part.group] >= 0 {
				replaced.WriteString(text[m[2*part.group]:m[2*part.group+1]])
			}
		}
		end = m[1]
	}
	replaced.WriteString(text[end:])
	return replaced.String()
}
