package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFaultsOfYAMLNameTheirLine would catch the library's line in a message: the line before, the
// beginning of the enclosing mapping, or none.
func TestFaultsOfYAMLNameTheirLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line int
		says string
	}{
		"a: [":                             {1, "did not find expected node content"},
		"a: \"\\q\"\n":                     {1, "found unknown escape character"},
		"a: 1\nb: [1,2\nc: 3\n":            {2, "did not find expected ',' or ']'"},
		"a: 1\n  b: 2\n":                   {2, "mapping values are not allowed"},
		"a: 1\n\tb: 2\n":                   {2, "found a tab character"},
		"a: 1\nb 2\nc: 3\n":                {2, "could not find expected ':'"},
		"a: 1\nb: *x\n":                    {2, "unknown anchor 'x' referenced"},
		"a: 1\nb: \xff\nc: 1\n":            {2, "invalid leading UTF-8 octet"},
		"a: 1\nb: \x01\n":                  {2, "control characters are not allowed"},
		"a: 1\nb: \"x\nc: 3\nd: 4\n":       {2, "found unexpected end of stream"},
		"a: 1\n\n\n}\nb: 1\n":              {4, "did not find expected key"},
		"x:\n  y:\n    z: 1\n    w: 2\n ]": {5, "did not find expected key"},
		"- a\nb: c\n":                      {2, "did not find expected '-' indicator"},
		"# a\n# b\na: 1\r\nb: [\r\n":       {4, "did not find expected node content"},
	} {
		says := fmt.Sprintf("conf.yaml:%d: not valid YAML: ", want.line)
		_, err := parseFile("conf.yaml", []byte(text))
		if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), says) || !strings.Contains(err.Error(), want.says) || strings.Contains(err.Error(), "yaml:") && !strings.HasPrefix(err.Error(), "conf.yaml:") {
			t.Errorf("%q: %v, want %s…%s", text, err, says, want.says)
		}
		if _, _, err := parseFlink("conf.yaml", []byte(text), parseFlinkYAML); !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("Flink's %q: %v, want %s", text, err, says)
		}
	}
}

// TestTheBrokenLineOfALongFileIsFoundSoon would catch a search that reads the file once for each of
// its lines. It would take minutes for this file.
func TestTheBrokenLineOfALongFileIsFoundSoon(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	text := strings.Repeat("a: 1\n", lines) + "b: }\n" + strings.Repeat("c: 1\n", lines)
	if _, err := parseFile("conf.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("conf.yaml:%d: ", lines+1)) {
		t.Errorf("got error %v", err)
	}
}
