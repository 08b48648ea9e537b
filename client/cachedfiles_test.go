package client

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// TestCachedFilesOfThisMachineAreStaged would catch a file that is uploaded twice, one whose place in the cluster
// the job does not know, and one under a name that the cache takes for an incomplete file.
func TestCachedFilesOfThisMachineAreStaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"cities.csv": "Rome", "..hidden": "Rome", ".tool": "#!/bin/sh"})
	option := "name:cities,path:" + dir + "/cities.csv;name:zones,path:hdfs:///zones;name:more,path:file://" + dir + "/..hidden;name:tool,path:" + dir + "/.tool,executable:true"
	found, err := FindCachedFiles(t.Context(), options(t, "pipeline.cached-files="+option))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Local) != 2 || found.Local[0].Name != "cities.csv" || found.Local[1].Name != "tool" || found.Local[1].Size != 9 {
		t.Fatalf("to stage are %+v", found.Local)
	}
	if diff := cmp.Diff([]string{"hdfs:///zones"}, found.remote()); diff != "" {
		t.Errorf("tokens are needed for (-want +got):\n%s", diff)
	}
	rome, tool := found.Local[0].SHA256, found.Local[1].SHA256
	want := []jobgraph.CachedFile{
		{Name: "cities", URI: "hdfs://nn/cities.csv", SHA256: rome, Size: 4},
		{Name: "zones", URI: "hdfs:///zones"},
		{Name: "more", URI: "hdfs://nn/cities.csv", SHA256: rome, Size: 4},
		{Name: "tool", URI: "hdfs://nn/tool", SHA256: tool, Size: 9, Executable: true},
	}
	complete := found.at([]launch.Resource{{URI: "hdfs://nn/cities.csv"}, {URI: "hdfs://nn/tool"}})
	if diff := cmp.Diff(want, complete); diff != "" {
		t.Errorf("the job gets (-want +got):\n%s", diff)
	}
	for mode, inGraph := range map[launch.Mode]bool{launch.PerJob: true, launch.Application: false} {
		graph := &jobgraph.JobGraph{Name: "words"}
		content, err := (&Application{}).content(&plan{mode: mode, graph: graph}, nil, staged{cached: complete})
		var what launch.Staged
		if err = errors.Join(err, json.Unmarshal(content, &what)); err != nil {
			t.Fatal(err)
		}
		var job jobgraph.JobGraph
		if inGraph {
			if err := json.Unmarshal(what.Job.Graph, &job); err != nil {
				t.Fatal(err)
			}
		} else {
			job.Files = what.Files
		}
		if diff := cmp.Diff(want, job.Files); diff != "" || len(graph.Files) > 0 {
			t.Errorf("%s: the ApplicationMaster gets (-want +got):\n%s", mode, diff)
		}
	}
	for place, want := range map[string]string{
		"none.csv": "this machine has no such file: correct the path; for a file on HDFS write hdfs:///…",
		".":        "it is a directory: pack it into one file",
		"pipe":     "it is not a regular file",
		"secret":   "it is not readable",
	} {
		path := filepath.Join(dir, place)
		switch place {
		case "pipe":
			path = "/dev/null"
		case "secret":
			if os.Getuid() == 0 { // root reads all files
				continue
			}
			if err := os.WriteFile(path, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		_, err := FindCachedFiles(t.Context(), options(t, "pipeline.cached-files=name:x,path:"+path))
		if !errors.Is(err, cachedfiles.ErrNotFound) || !strings.Contains(err.Error(), `"x" (pipeline.cached-files) is `+path+": "+want) {
			t.Errorf("%s: got %v, want %q", place, err, want)
		}
	}
}
