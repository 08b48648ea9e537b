package hadoopconf

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// FuzzParse reads arbitrary documents. The reader must return an error, or a
// configuration that Marshal and Parse do not change. It must never panic or read another
// file.
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
			return // endless variables
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
