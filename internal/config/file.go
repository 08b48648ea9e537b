package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FileName is the file of options in the configuration directory.
const FileName = "bobbin.yaml"

const (
	// maxFile bounds the file of options, in bytes.
	maxFile = 1 << 20
	// maxName bounds a dotted name in bytes. Nested mappings could otherwise make each name as long
	// as the file, once for each value.
	maxName = 256
)

// ReadFile reads a YAML file of options: "a.b: v", or nested mappings, which mean the same. The
// error for a missing file is fs.ErrNotExist. Anything but mappings of single values is an error
// with file and line.
func ReadFile(path string) (Layer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Layer{}, fmt.Errorf("read options: %w", err)
	}
	return parseFile(path, data)
}

// parseFile is ReadFile for content that was already read.
func parseFile(path string, data []byte) (Layer, error) {
	layer := Layer{Source: path, Values: make(map[string]string), Lines: make(map[string]int)}
	top, err := readYAML(path, data)
	if err != nil {
		return Layer{}, err
	}
	if top == nil {
		return layer, nil
	}
	var faults []error
	flatten(top, "", func(name string, node *yaml.Node, err error) {
		switch _, twice := layer.Values[name]; {
		case err != nil:
			faults = append(faults, fmt.Errorf("%s:%d: %w", path, node.Line, err))
		case twice:
			faults = append(faults, fmt.Errorf("%s:%d: option %s is given twice, first in line %d: %w", path, node.Line, name, layer.Lines[name], ErrInvalid))
		default:
			layer.Values[name], layer.Lines[name] = node.Value, node.Line
		}
	})
	if len(faults) > 0 {
		return Layer{}, errors.Join(faults...)
	}
	return layer, nil
}

func tooLarge(path string, data []byte) error {
	return fmt.Errorf("%s: %d bytes, want at most %d: %w", path, len(data), maxFile, ErrInvalid)
}

// flatten visits the single values below a node with their dotted names.
func flatten(node *yaml.Node, name string, visit func(name string, node *yaml.Node, err error)) {
	switch {
	case node.Kind == yaml.ScalarNode && name != "":
		visit(name, node, nil)
	case node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.Value == "" {
				visit(name, key, fmt.Errorf("a mapping's key must be a name: %w", ErrInvalid))
				continue
			}
			if len(name)+1+len(key.Value) > maxName {
				visit(name, key, fmt.Errorf("a name has more than %d bytes: %w", maxName, ErrInvalid))
				continue
			}
			flatten(node.Content[i+1], strings.TrimPrefix(name+"."+key.Value, "."), visit)
		}
	default: // lists and aliases: an option is one value
		visit(name, node, fmt.Errorf("want \"name: value\" here: %w", ErrInvalid))
	}
}

// ParseDefinition splits the "key=value" of a -D option. The value may be empty and may contain
// anything.
func ParseDefinition(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !found || name == "" {
		return "", "", fmt.Errorf("-D %s: want key=value: %w", text, ErrInvalid)
	}
	return name, value, nil
}
