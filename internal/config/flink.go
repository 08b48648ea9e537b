package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Files of options in Flink's configuration directory. If both exist, the file of Flink 1.19 and
// later counts.
const (
	flinkFile       = "config.yaml"
	flinkLegacyFile = "flink-conf.yaml"
)

// ReadFlink reads the options of a directory that is Flink's FLINK_CONF_DIR. The layer holds the
// options that Bobbin has. others lists the names of the rest, in their order: options for a JVM,
// options that Bobbin does not have yet, and those with a value that it does not have. The directory
// of another kind of high availability is also one of them, the last. If the directory has neither
// file, the error is fs.ErrNotExist.
func ReadFlink(dir string) (layer Layer, others []string, err error) {
	path, parse := filepath.Join(dir, flinkFile), flinkParser(parseFlinkYAML)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path, parse = filepath.Join(dir, flinkLegacyFile), parseFlinkLines
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return Layer{}, nil, fmt.Errorf("read Flink's options: %w", err)
	}
	return parseFlink(path, data, parse)
}

// flinkParser visits the options of one of Flink's files. Its errors name file and line, and wrap
// ErrInvalid.
type flinkParser func(path string, data []byte, visit func(name, value string, line int)) error

// parseFlink is ReadFlink for content that was already read.
func parseFlink(path string, data []byte, parse flinkParser) (layer Layer, others []string, err error) {
	layer = Layer{Source: path, Values: make(map[string]string), Lines: make(map[string]int)}
	err = parse(path, data, func(name, value string, line int) {
		name = cmp.Or(renamed(name), name)
		if d, known := definitionOf(name); !known || d.refusal(value) != nil {
			others = append(others, name)
			return
		}
		layer.Values[name], layer.Lines[name] = value, line
	})
	if err != nil {
		return Layer{}, nil, err
	}
	storage := HighAvailabilityStorageDir.Name()
	if _, is := layer.Values[storage]; is && slices.Contains(others, HighAvailabilityType.Name()) {
		delete(layer.Values, storage)
		delete(layer.Lines, storage)
		others = append(others, storage)
	}
	return layer, others, nil
}

// Expected reports whether an option of Flink's that has no effect belongs to a part that Bobbin
// does not have yet: other kinds of high availability, checkpoints, and their state.
func Expected(name string) bool {
	return slices.ContainsFunc([]string{"high-availability.", "execution.checkpointing.", "state."}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// renamed returns Bobbin's name of an option that has several names in Flink, or "" for other
// options.
func renamed(name string) string {
	switch name {
	case "execution.buffer-timeout.interval":
		return BufferTimeout.Name()
	case "restart-strategy":
		return RestartStrategy.Name()
	case "slotmanager.taskmanager-timeout":
		return WorkerIdleTimeout.Name()
	case "high-availability", "recovery.mode":
		return HighAvailabilityType.Name()
	case "high-availability.zookeeper.storageDir", "recovery.zookeeper.storageDir":
		return HighAvailabilityStorageDir.Name()
	case "high-availability.zookeeper.path.namespace", "recovery.zookeeper.path.namespace":
		return HighAvailabilityClusterID.Name()
	case "security.keytab":
		return KerberosKeytab.Name()
	case "security.principal":
		return KerberosPrincipal.Name()
	}
	return ""
}

// parseFlinkYAML reads Flink's YAML (YamlParserUtils). Nested mappings form dotted names. A list
// becomes its values joined by ";".
func parseFlinkYAML(path string, data []byte, visit func(name, value string, line int)) error {
	top, err := readYAML(path, data)
	if err != nil || top == nil {
		return err
	}
	var faults []error
	flatten(top, "", func(name string, node *yaml.Node, err error) {
		if err == nil {
			visit(name, node.Value, node.Line)
			return
		}
		var values []string
		for _, item := range node.Content {
			values = append(values, item.Value)
		}
		if node.Kind != yaml.SequenceNode || name == "" || slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }) {
			faults = append(faults, fmt.Errorf("%s:%d: %w", path, node.Line, err))
			return
		}
		visit(name, strings.Join(values, ";"), node.Line)
	})
	return errors.Join(faults...)
}

// parseFlinkLines reads the older form, which is not YAML
// (GlobalConfiguration#loadLegacyYAMLResource): "key: value" on each line, up to a "#". Flink skips
// other lines with a warning. parseFlinkLines skips them too.
func parseFlinkLines(path string, data []byte, visit func(name, value string, line int)) error {
	if len(data) > maxFile {
		return tooLarge(path, data)
	}
	number := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		text, _, _ := strings.Cut(line, "#")
		name, value, found := strings.Cut(strings.TrimSpace(text), ": ")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); found && name != "" && value != "" {
			visit(name, value, number)
		}
	}
	return nil
}
