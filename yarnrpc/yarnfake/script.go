package yarnfake

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const tokensFile = "container_tokens"

// script returns the bash script of a container: exports, then the command, both between
// double quotes, as a NodeManager writes them
// (org.apache.hadoop.yarn.server.nodemanager.containermanager.launcher.ContainerLaunch).
func script(c Container, p places) string {
	var s strings.Builder
	s.WriteString("#!/bin/bash\nset -o pipefail -e\n")
	own := map[string]string{
		"CONTAINER_ID":               c.ID.String(),
		"NM_HOST":                    c.Node.Host,
		"NM_PORT":                    strconv.Itoa(c.Node.Port),
		"NM_HTTP_PORT":               "8042",
		"LOCAL_DIRS":                 p.app,
		"LOG_DIRS":                   p.logs,
		"USER":                       c.User,
		"LOGNAME":                    c.User,
		"HOME":                       "/home/",
		"PWD":                        p.work,
		"HADOOP_TOKEN_FILE_LOCATION": filepath.Join(p.work, tokensFile),
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&s, "export %s=\"%s\"\n", name, own[name])
	}
	s.WriteString("export JVM_PID=\"$$\"\n")
	theirs := make(map[string]string)
	for name, value := range c.Launch.Environment {
		if _, reserved := own[name]; !reserved {
			theirs[name] = expand(value, p)
		}
	}
	for _, name := range byReference(theirs) {
		fmt.Fprintf(&s, "export %s=\"%s\"\n", name, theirs[name])
	}
	fmt.Fprintf(&s, "exec /bin/bash -c \"%s\"\n", expand(strings.Join(c.Launch.Commands, " "), p))
	return s.String()
}

// expand replaces the placeholders of a NodeManager in commands and values.
func expand(s string, p places) string {
	return strings.NewReplacer("<LOG_DIR>", p.logs, "<CPS>", ":", "<ADD_OPENS>", "", "{{", "$", "}}", "").Replace(s)
}

// byReference orders variables by name, but each after the variables in its value.
// Circular references stay as they are.
func byReference(values map[string]string) []string {
	var order []string
	pending := slices.Sorted(maps.Keys(values))
	for len(pending) > 0 {
		i := slices.IndexFunc(pending, func(name string) bool {
			return !slices.ContainsFunc(pending, func(other string) bool { return other != name && names(values[name], other) })
		})
		i = max(i, 0)
		order = append(order, pending[i])
		pending = slices.Delete(pending, i, i+1)
	}
	return order
}

// names reports whether a value refers to a variable.
func names(value, variable string) bool {
	for _, part := range strings.Split(value, "$")[1:] {
		part = strings.TrimPrefix(part, "{")
		end := strings.IndexFunc(part, func(r rune) bool {
			return r != '_' && (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r)
		})
		if end < 0 {
			end = len(part)
		}
		if part[:end] == variable {
			return true
		}
	}
	return false
}

// localizationFailed is the status of a container that never ran.
const localizationFailed = records.ExitUnknown
