package hadoopconf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// nothing is a value that expands to the empty text. A value that is written empty counts
// as not set (Configuration#loadResource).
const nothing = "${env.-}"

// Marshal writes the properties that are set as one XML document, which Parse and Java
// can read. It includes properties that are set to Hadoop's default, because a server's
// default may differ. It substitutes variables, so that every process sees the caller's
// values, and keeps the sources for error messages. It leaves out properties with
// secrets, because others may read the document.
func (c *Conf) Marshal() ([]byte, error) {
	type element struct {
		XMLName xml.Name `xml:"property"`
		Name    string   `xml:"name"`
		Value   string   `xml:"value"`
		Source  string   `xml:"source"`
	}
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	encoder := xml.NewEncoder(&b)
	for _, name := range c.Names() {
		if isSensitive(name) {
			continue
		}
		value, err := c.expand(c.values[name].value)
		if err != nil {
			return nil, c.valueError(name, c.values[name].value, err.Error())
		}
		if value == "" {
			value = nothing
		}
		if err := encoder.Encode(element{Name: name, Value: value, Source: c.values[name].source.String()}); err != nil {
			return nil, fmt.Errorf("write Hadoop configuration: property %s: %w", name, err)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</configuration>\n")
	return b.Bytes(), nil
}

// Parse reads a document that Marshal wrote. It refuses includes. It does not substitute
// ${…}, because Marshal has substituted the variables that its process knew.
func Parse(data []byte) (*Conf, error) {
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read Hadoop configuration: larger than %d bytes", maxFileBytes)
	}
	properties, err := parse("configuration", data, func(string) ([]property, error) {
		return nil, errors.New("xi:include is not allowed here")
	})
	if err != nil {
		return nil, fmt.Errorf("read Hadoop configuration: %w", err)
	}
	c := &Conf{values: make(map[string]property, len(properties))}
	for _, p := range properties {
		c.set(p)
	}
	return c, nil
}

// parseSource reads the text of Source.String. Other texts give fallback, because Java's
// <source> elements hold only class and file names.
func parseSource(text string, fallback Source) Source {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return fallback
	}
	line, err := strconv.Atoi(text[i+1:])
	if err != nil {
		return fallback
	}
	return Source{File: text[:i], Line: line}
}

// isSensitive reports whether a property's value may be a secret. It knows the names in
// the default of hadoop.security.sensitive-config-keys, and a few more.
func isSensitive(name string) bool {
	// A SecretManager's properties say how it makes tokens, and hold no secret.
	name = strings.ReplaceAll(strings.ToLower(name), "secret-manager", "")
	for _, part := range []string{"secret", "password", "credential", "keystore.pass", "account.key", "access.key", "encryption.key", "oauth"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
