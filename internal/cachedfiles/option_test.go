package cachedfiles_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestTheOptionIsReadAsFlinkDoes would catch an option of Flink that names other files here.
func TestTheOptionIsReadAsFlinkDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]jobgraph.CachedFile{
		"": nil,
		"name:file1,path:'file:///tmp/file1';name:file2,path:'hdfs:///tmp/file2'": { // the example of PipelineOptions.CACHED_FILES
			{Name: "file1", URI: "file:///tmp/file1"}, {Name: "file2", URI: "hdfs:///tmp/file2"},
		},
		`name:tool,path:"/a,b;c",executable:TRUE`:               {{Name: "tool", URI: "/a,b;c", Executable: true}},
		"name:x,executable:false,path:hdfs://nn:8020/x":         {{Name: "x", URI: "hdfs://nn:8020/x"}},
		"name : x , path : /x ; ; name:'it''s',path:'/it''s' ;": {{Name: "x", URI: "/x"}, {Name: "it's", URI: "/it's"}},
		"path:städte.csv,name:städte":                           {{Name: "städte", URI: "städte.csv"}},
	} {
		got, err := cachedfiles.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAMalformedOptionIsNamed(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range jobgraph.MaxFiles + 1 {
		fmt.Fprintf(&many, "name:%d,path:/x;", i)
	}
	for text, want := range map[string]string{
		"/tmp/x":                            "want name:NAME,path:PATH",
		"name:x":                            "it needs a name and a path",
		"path:/x":                           "it needs a name and a path",
		"name:,path:/x":                     "it needs a name and a path",
		"name:x,name:y,path:/x":             "want name:NAME,path:PATH",
		"name:x,path:/x,mode:755":           `"mode" is not name, path or executable`,
		"name:x,path:/x,executable:yes":     "executable must be true or false",
		"name:x,path:'/x;name:y,path:/y":    "a quote ' is not closed",
		"name:x,path:/x;name:y,path:/y;x:y": `x:y, "x" is not`,
		"name:x,path:/x;name:x,path:/y":     `two files are named "x"`,
		many.String():                       "a job has at most 256",
	} {
		_, err := cachedfiles.Parse(text)
		if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pipeline.cached-files") {
			t.Errorf("%.50s: got %v, want %q", text, err, want)
		}
	}
}

// FuzzParse would catch a panic, and a file that a job may not have.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"name:a,path:/a", "name:'a',path:\"/a;\",executable:true;", "'", `name:"a""b",path:x`, "name:a,path::"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, err := cachedfiles.Parse(text)
		if err != nil && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("error %v is not ErrInvalid", err)
		}
		names := make(map[string]bool)
		for _, file := range files {
			if file.Name == "" || file.URI == "" || names[file.Name] {
				t.Errorf("%q gives %+v", text, files)
			}
			names[file.Name] = true
		}
	})
}
