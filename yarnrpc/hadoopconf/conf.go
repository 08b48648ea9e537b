// Package hadoopconf reads a Hadoop client configuration: core-site.xml,
// hdfs-site.xml and yarn-site.xml of one directory. If the files do not set a
// property, the package has Hadoop's default, but only for properties on whose
// default this module relies.
//
// Most programs begin with this package. Find returns the directory of the files,
// Load reads them, and the clients' FromConf functions read their options from
// the result. Marshal and Parse pass a configuration to processes that have no
// such files.
//
// It follows org.apache.hadoop.conf.Configuration: later files override earlier
// ones unless a property is final; deprecated names stand for their successors;
// ${name} and ${env.NAME} are substituted when a value is read; xi:include
// includes local files. Java takes the default for a malformed value; this
// package returns an error, which names file and line.
//
// A Conf is immutable: any number of goroutines may read it. The package starts
// no goroutine and opens no connection. It does not read the process environment;
// the program passes it in.
package hadoopconf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Environment holds the variables outside the files to which ${…} may refer. The
// zero value has none, and such references stay unchanged.
type Environment struct {
	// LookupEnv resolves ${env.NAME}. Programs usually pass os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// Properties stand for Java's system properties, such as user.name,
	// user.home and java.io.tmpdir. They win over properties of the files.
	Properties map[string]string
}

// Source is the place where a value was set. The zero Source is Hadoop's own
// default.
type Source struct {
	File string // path as it was opened
	Line int    // of the property's first tag, from 1; 0 if there are no lines
}

// String is "file:line", "file", or "default".
func (s Source) String() string {
	switch {
	case s.File == "":
		return "default"
	case s.Line == 0:
		return s.File
	default:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
}

// Conf is a loaded configuration. The zero Conf holds Hadoop's defaults.
type Conf struct {
	env    Environment
	values map[string]property
}

// Find returns the configuration directory that an environment names:
// HADOOP_CONF_DIR, or else YARN_CONF_DIR. The error wraps fs.ErrNotExist if
// neither is set or the directory does not exist.
func Find(getenv func(string) string) (string, error) {
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		dir := getenv(name)
		if dir == "" {
			continue
		}
		info, err := os.Stat(dir)
		if err != nil {
			return "", fmt.Errorf("find Hadoop configuration %s=%s: %w; set it to the directory that holds core-site.xml and yarn-site.xml", name, dir, err)
		}
		if !info.IsDir() {
			return "", fmt.Errorf("find Hadoop configuration %s=%s: not a directory; set it to the one that holds core-site.xml and yarn-site.xml", name, dir)
		}
		return dir, nil
	}
	return "", notFound("find Hadoop configuration: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set;" +
		" set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml")
}

// notFound is an fs.ErrNotExist with its own text.
type notFound string

func (e notFound) Error() string        { return string(e) }
func (e notFound) Is(target error) bool { return target == fs.ErrNotExist }

// Load reads the site files of a directory. It skips a missing file. The error
// wraps fs.ErrNotExist if all three are missing, and is a *ParseError if a file
// cannot be parsed.
func Load(dir string, env Environment) (*Conf, error) {
	c := &Conf{env: env, values: make(map[string]property)}
	found := false
	for _, name := range siteFiles() {
		properties, err := parseFile(filepath.Join(dir, name), 0)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read Hadoop configuration: %w", err)
		}
		found = true
		for _, p := range properties {
			c.set(p)
		}
	}
	if !found {
		return nil, notFound("read Hadoop configuration: no core-site.xml, hdfs-site.xml or yarn-site.xml in " + dir +
			": set HADOOP_CONF_DIR to the directory that holds them")
	}
	return c, nil
}

// siteFiles is the order in which Hadoop's clients add their resources: a
// later file overrides an earlier one.
func siteFiles() []string {
	return []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml"}
}

// set adds one property in the order of the files. The last value wins, but no value
// replaces a final one.
func (c *Conf) set(p property) {
	p.name = canonicalName(p.name)
	if old, ok := c.values[p.name]; ok && old.final {
		return
	}
	c.values[p.name] = p
}

// With returns a copy of the configuration in which the given properties are set
// as if by a last file named source. They override final properties too: a user's
// value for one run wins over the administrator's file, as with Configuration.set
// in a Java program.
func (c *Conf) With(source string, properties map[string]string) *Conf {
	d := &Conf{env: c.env, values: make(map[string]property, len(c.values)+len(properties))}
	maps.Copy(d.values, c.values)
	for name, value := range properties {
		name = canonicalName(name)
		d.values[name] = property{name: name, value: value, source: Source{File: source}}
	}
	return d
}

// Names returns the names of all properties that the files set, sorted.
func (c *Conf) Names() []string {
	names := make([]string, 0, len(c.values))
	for name := range c.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SourceOf returns the file and line that set a property, or the zero Source if
// none did.
func (c *Conf) SourceOf(name string) Source {
	return c.values[canonicalName(name)].source
}
