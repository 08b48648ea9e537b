package dfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

func confOf(properties map[string]string) *hadoopconf.Conf {
	return (&hadoopconf.Conf{}).With("test", properties)
}

func TestQualify(t *testing.T) {
	t.Parallel()
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	onHDFS := Options{User: "alice", Conf: confOf(map[string]string{"fs.defaultFS": "hdfs://ns1"})}
	tests := map[string]struct {
		options Options
		uri     string
		want    string
	}{
		"an absolute path is on the default file system": {onHDFS, "/a/b", "hdfs://ns1/a/b"},
		"a relative path is in the user's home":          {onHDFS, "a/b", "hdfs://ns1/user/alice/a/b"},
		"paths are cleaned":                              {onHDFS, "/a/../b//c/", "hdfs://ns1/b/c"},
		"a URI without authority takes the default one":  {onHDFS, "hdfs:///a", "hdfs://ns1/a"},
		"a URI with authority keeps it":                  {onHDFS, "hdfs://nn:8020/a", "hdfs://nn:8020/a"},
		"the root of an authority":                       {onHDFS, "hdfs://nn:8020", "hdfs://nn:8020/"},
		"nothing is percent-decoded":                     {onHDFS, "hdfs://nn/a%20b?c#d", "hdfs://nn/a%20b?c#d"},
		"a colon after a slash is part of the name":      {onHDFS, "/a:b", "hdfs://ns1/a:b"},
		"a local URI stays local":                        {onHDFS, "file:///tmp/x", "file:///tmp/x"},
		"a local URI in the short form":                  {onHDFS, "file:/tmp/x", "file:///tmp/x"},
		"schemes are told apart in any case":             {onHDFS, "FILE:///tmp/x", "file:///tmp/x"},
		"without Hadoop a path is local":                 {Options{}, "/tmp/x", "file:///tmp/x"},
		"without Hadoop a relative path starts here":     {Options{}, "x", "file://" + filepath.Join(working, "x")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := New(test.options).Qualify(test.uri)
			if err != nil || got != test.want {
				t.Errorf("Qualify(%q) = %q, %v; want %q", test.uri, got, err, test.want)
			}
		})
	}
}

func TestQualifyRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ uri, want string }{
		"nothing":                    {"", "it is empty"},
		"another scheme":             {"s3a://bucket/x", `scheme "s3a" are not supported; use hdfs:// or file://`},
		"a local file with a host":   {"file://host/x", "write file:///path"},
		"no NameNode to be found":    {"hdfs:///x", "the default file system is file:///"},
		"a scheme of a default only": {"viewfs:/x", "not supported"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Options{}).Qualify(test.uri)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	f := New(Options{User: "alice", Conf: confOf(map[string]string{"fs.defaultFS": "hdfs://nn:8020/"})})
	if got, err := f.Home(); err != nil || got != "hdfs://nn:8020/user/alice" {
		t.Errorf("Home = %q, %v", got, err)
	}
}
