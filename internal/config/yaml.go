package config

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML gives the outermost node of a YAML text, nil where it says nothing. The error
// names file and line.
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

// brokenLine is where a text stops being YAML: the end of its shortest beginning that is wrong in
// the same way. The library names the line of what encloses the fault, mostly one too early,
// and none where that is the first; of a text that is not UTF-8 it never names one. A line
// before the first one has it always name what encloses the fault.
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

// libraryLine is how the library begins an error.
var libraryLine = regexp.MustCompile(`^yaml: (line \d+: )?`) //nolint:gochecknoglobals // a constant

// withoutLine is the text of an error of the library's.
func withoutLine(err error) string {
	return strings.TrimSpace(libraryLine.ReplaceAllString(err.Error(), ""))
}
