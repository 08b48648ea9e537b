package dfs

import (
	"path"
	"strings"
	"testing"
)

// FuzzQualify parses paths from users. It would catch a URI that means another file in the next
// process.
func FuzzQualify(f *testing.F) {
	for _, uri := range []string{"/a/../b//c/", "hdfs:///a", "hdfs://nn:8020/a%20b?c#d", "hdfs://nn:8020", "hdfs:a", "FILE:///tmp/x", "file:x", "/a:b", "a:b", "hdfs:////x", "hdfs://../x", "s3a://b/x"} {
		f.Add(uri)
	}
	onHDFS := New(Options{User: "alice", Conf: confOf(map[string]string{"fs.defaultFS": "hdfs://ns1"})})
	f.Fuzz(func(t *testing.T, uri string) {
		got, err := onHDFS.Qualify(uri)
		if err != nil {
			if uri != "" && !strings.Contains(err.Error(), uri) {
				t.Errorf("error %v does not name %q", err, uri)
			}
			return
		}
		if again, err := onHDFS.Qualify(got); err != nil || again != got {
			t.Errorf("%q is %q, which is %q, %v", uri, got, again, err)
		}
		at := split(got)
		if !path.IsAbs(at.path) || path.Clean(at.path) != at.path || at.scheme == schemeHDFS && at.authority == "" {
			t.Errorf("%q is %q", uri, got)
		}
		// Another process may have another default file system.
		if there, err := New(Options{User: "bob"}).Qualify(got); err != nil || there != got {
			t.Errorf("%q is %q, and elsewhere %q, %v", uri, got, there, err)
		}
	})
}
