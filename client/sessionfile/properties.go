package sessionfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// property is a line in the format of java.util.Properties#store. Characters outside printable ASCII are
// written as \uXXXX.
func property(key, value string) string {
	return escape(key, true) + "=" + escape(value, false) + "\n"
}

func escape(text string, all bool) string {
	var b strings.Builder
	for i, unit := range utf16.Encode([]rune(text)) {
		c := rune(unit)
		switch {
		case c == ' ' && (all || i == 0), strings.ContainsRune(`\=:#!`, c):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\f':
			b.WriteString(`\f`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\u%04X`, unit)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// parseProperties reads the format of java.util.Properties#load. A \u without four hex digits, which Java
// refuses, stands for itself. If a key occurs twice, the last value counts.
func parseProperties(text string) map[string]string {
	values := make(map[string]string)
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimLeft(line, blanks)
		if len(lines) == 0 && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		if continues(line) {
			lines = append(lines, line[:len(line)-1])
			continue
		}
		key, value := cut(strings.Join(append(lines, line), ""))
		values[unescape(key)], lines = unescape(value), nil
	}
	if lines != nil {
		key, value := cut(strings.Join(lines, ""))
		values[unescape(key)] = unescape(value)
	}
	return values
}

const blanks = " \t\f"

// continues tells whether a line continues on the next one: it ends with a backslash that is not escaped.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// cut splits a line at the first "=", ":" or blank that is not escaped.
func cut(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case strings.IndexByte("=:"+blanks, line[i]) >= 0:
			rest := strings.TrimLeft(line[i:], blanks)
			if rest != "" && (rest[0] == '=' || rest[0] == ':') {
				rest = strings.TrimLeft(rest[1:], blanks)
			}
			return line[:i], rest
		}
	}
	return line, ""
}

// unescape reads each byte as a character of ISO 8859-1, as Java does.
func unescape(text string) string {
	var units []uint16
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			if c != '\\' {
				units = append(units, uint16(c))
			}
			continue
		}
		i++
		switch text[i] {
		case 't':
			units = append(units, '\t')
		case 'n':
			units = append(units, '\n')
		case 'r':
			units = append(units, '\r')
		case 'f':
			units = append(units, '\f')
		case 'u':
			if n, err := strconv.ParseUint(text[i+1:min(i+5, len(text))], 16, 16); err == nil && i+5 <= len(text) {
				units, i = append(units, uint16(n)), i+4
				continue
			}
			units = append(units, 'u')
		default:
			units = append(units, uint16(text[i]))
		}
	}
	return string(utf16.Decode(units))
}
