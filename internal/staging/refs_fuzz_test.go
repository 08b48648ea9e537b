package staging

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzParseRefs parses a refs file of some entries between any other content, at once and byte by
// byte. It would catch a used entry that is not found among the refs, so that it is evicted, and a
// file that is read only in part.
func FuzzParseRefs(f *testing.F) {
	const entry = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
	for _, other := range []string{"", "\n", entry[:32], "\r\n" + entry, " \x00\xff", strings.Repeat("x", 70_000)} {
		f.Add(other, uint16(1))
	}
	f.Add("", uint16(maxRefs/len(entry))) // the longest file
	f.Add("", uint16(maxRefs/len(entry)+1))
	f.Fuzz(func(t *testing.T, other string, entries uint16) {
		content := other + "\n" + strings.Repeat(entry, int(entries)) + other
		for name, file := range map[string]io.Reader{"at once": strings.NewReader(content), "byte by byte": iotest.OneByteReader(strings.NewReader(content))} {
			refs, err := parseRefs(file)
			if len(content) > maxRefs {
				if !errors.Is(err, errTooManyRefs) || refs != nil {
					t.Errorf("%s: of %d bytes %d refs are read, %v", name, len(content), len(refs), err)
				}
				continue
			}
			found := 0
			for _, ref := range refs {
				if ref == strings.TrimSpace(entry) {
					found++
				}
			}
			if err != nil || found < int(entries) {
				t.Errorf("%s: %d of %d entries are found: %v", name, found, entries, err)
			}
			if slices.ContainsFunc(refs, func(ref string) bool { return ref == "" || strings.ContainsAny(ref, "\r\n") }) {
				t.Errorf("%s: refs are %q", name, refs)
			}
		}
	})
}
