package staging

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the largest length of a file's name in the cache, in bytes. HDFS accepts 255.
const MaxName = 200

// PlainName makes of a file's name the one that it has in the cache. HDFS accepts it. It is safe in a NodeManager's
// shell script, which quotes names but escapes nothing. It does not begin with a dot, as names of incomplete files
// do, and has at most MaxName bytes. Of a longer name it keeps the end.
func PlainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == ':' || r == '"' || r == '$' || r == '`' || r == '\\' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	name = name[max(0, len(name)-MaxName):]
	for name != "" && !utf8.RuneStart(name[0]) {
		name = name[1:]
	}
	return cmp.Or(strings.TrimLeft(name, "."), "file")
}
