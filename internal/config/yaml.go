package config

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML returns the root node of a YAML text, or nil if the text is empty. The error names file
// and line.
func readYAML(path string, data []byte) (*yaml.Node, error) {
	if len(data) > maxFile {
		return nil, tooLarge(path, data)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s:%d: not valid YAML: %s: %w", path, brokenLine(data), withoutLine(err), ErrInvalid)
	}
	if len(document.Content) == 0 { // empty, or comments only
		return nil, nil
	}
	return document.Content[0], nil
}

// brokenLine returns the line at which a text stops being YAML: the last line of its shortest
// beginning that causes the same error as the whole text. The library names the line of the
// enclosing element, mostly one line too early, and no line if that is the first. For text that is
// not UTF-8 it names no line at all. An extra line before the first makes the library always name
// the enclosing line.
func brokenLine(data []byte) int {
	fault := func(text []byte) string {
		var document yaml.Node
		if err := yaml.Unmarshal(append([]byte("\n"), text...), &document); err != nil {
			return err.Error()
		}
		return ""
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	whole := fault(data)
	ends := make([]int, len(lines)) // offsets
	size := 0
	for i, line := range lines {
		size += len(line)
		ends[i] = size
	}
	return 1 + min(len(lines)-1, sort.Search(len(lines), func(i int) bool { return fault(data[:ends[i]]) == whole }))
}

// libraryLine is the beginning of the library's errors.
var libraryLine = regexp.MustCompile(`^yaml: (line \d+: )?`) //nolint:gochecknoglobals // a constant

// withoutLine returns the text of a library error without its beginning.
func withoutLine(err error) string {
	return strings.TrimSpace(libraryLine.ReplaceAllString(err.Error(), ""))
}
