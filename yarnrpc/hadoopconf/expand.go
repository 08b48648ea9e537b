package hadoopconf

import (
	"fmt"
	"strings"
)

// maxSubstitutions bounds the replacements in one value, as
// Configuration#MAX_SUBST does.
const maxSubstitutions = 20

// maxExpandedBytes bounds the length of a value after the replacements.
const maxExpandedBytes = 1 << 20

// expand substitutes ${name}, ${env.NAME}, ${env.NAME-word} (NAME is unset) and
// ${env.NAME:-word} (NAME is unset or empty) in a value, innermost first. An undefined
// name stays as it is written. If a name refers to itself, the whole value stays as it is
// written (Configuration#substituteVars).
func (c *Conf) expand(text string) (string, error) {
	expanded := text
	for range maxSubstitutions {
		start, end := findVariable(expanded)
		if start < 0 {
			return expanded, nil
		}
		name := expanded[start+2 : end-1]
		value, ok := c.variable(name)
		if !ok {
			return expanded, nil
		}
		if strings.Contains(value, expanded[start:end]) {
			return text, nil
		}
		if len(expanded)+len(value) > maxExpandedBytes {
			return "", fmt.Errorf("value grows beyond %d bytes when ${…} is substituted", maxExpandedBytes)
		}
		expanded = expanded[:start] + value + expanded[end:]
	}
	return "", fmt.Errorf("more than %d substitutions of ${…}", maxSubstitutions)
}

// findVariable returns the position s[start:end] of the first ${name} without another
// inside. start is -1 if there is none. A name holds no space, $ or {.
func findVariable(s string) (start, end int) {
	start = -1
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$':
			start = -1
			if i+1 < len(s) && s[i+1] == '{' {
				start = i
				i++
			}
		case start < 0:
		case s[i] == ' ':
			start = -1
		case s[i] == '}' && i > start+2:
			return start, i + 1
		case s[i] == '}':
			start = -1
		}
	}
	return -1, -1
}

func (c *Conf) variable(name string) (string, bool) {
	if env, ok := strings.CutPrefix(name, "env."); ok && env != "" {
		return c.environment(env)
	}
	if value, ok := c.env.Properties[name]; ok {
		return value, true
	}
	return c.raw(name)
}

// environment resolves NAME, NAME-word and NAME:-word.
func (c *Conf) environment(expression string) (string, bool) {
	name, word, hasWord := strings.Cut(expression, "-")
	name, orEmpty := strings.CutSuffix(name, ":")
	if !hasWord {
		name = expression
	}
	var value string
	var ok bool
	if c.env.LookupEnv != nil {
		value, ok = c.env.LookupEnv(name)
	}
	if hasWord && (!ok || orEmpty && value == "") {
		return word, true
	}
	return value, ok
}
