package hadoopconf

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// FuzzParse feeds arbitrary documents to the reader: it must end with an error
// or with a configuration that survives Marshal and Parse unchanged, and never
// panic or read another file.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/java/core-site.xml", "testdata/java/included.xml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("<configuration><property name='a' value='${b}'/><property name='b' value='${a}${a}'/></configuration>"))
	f.Add([]byte("<configuration><property><name>a</name><value>${env.A:-${b}}</value></property></configuration>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			var parseError *ParseError
			if !errors.As(err, &parseError) && len(data) <= maxFileBytes {
				t.Fatalf("error %v is no *ParseError", err)
			}
			return
		}
		first, err := c.Marshal()
		if err != nil {
			return // variables that do not end
		}
		d, err := Parse(first)
		if err != nil {
			t.Fatalf("cannot read what Marshal wrote: %v\n%s", err, first)
		}
		second, err := d.Marshal()
		if err != nil {
			t.Fatalf("cannot write again: %v", err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("written twice:\n%s\n%s", first, second)
		}
	})
}
