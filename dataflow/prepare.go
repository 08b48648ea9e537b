package dataflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Prepare does the part of planning that needs I/O. Only one process does it, once,
// before the job is submitted. Prepare checks that the outputs may be written, lists
// the input, and returns the graph with the splits of its sources and the directories
// of its sinks. Errors name the input or output and the remedy. Meanwhile Prepare calls
// listing each second with the number of input files found so far, unless listing is
// nil.
func (c *Compiled) Prepare(ctx context.Context, fsys filesystem.FileSystem, listing func(files int)) (jobgraph.JobGraph, error) {
	outputs, err := c.checkOutputs(ctx, fsys)
	if err != nil {
		return jobgraph.JobGraph{}, err
	}
	progress := tellListing(listing)
	defer progress.stop()
	g := c.Graph
	g.Vertices = slices.Clone(g.Vertices)
	for _, v := range c.vertices {
		g.Vertices[v.id].Outputs = outputs[v.id]
		source := v.nodes[0]
		if source.source == nil {
			continue
		}
		found, err := source.source.enumerate(ctx, connector.Planning{FileSystem: fsys, Parallelism: source.parallelism, Found: progress.found})
		if err != nil {
			return jobgraph.JobGraph{}, err
		}
		for i := range found {
			if err := found[i].Validate(); err != nil {
				return jobgraph.JobGraph{}, fmt.Errorf("%s: %w", source.name, err)
			}
		}
		if err := apart(fsys, found, slices.Concat(outputs...)); err != nil {
			return jobgraph.JobGraph{}, err
		}
		g.Vertices[v.id].Splits = found
	}
	return c.choose(g)
}

// apart returns an error if an input lies in an output directory, because the
// commit may replace the content of that directory.
func apart(fsys filesystem.FileSystem, found []jobgraph.Split, outputs []string) error {
	if len(outputs) == 0 {
		return nil
	}
	var places []place
	for _, dir := range outputs {
		places = append(places, placeOf(dir))
	}
	for _, split := range found {
		for _, part := range split.Parts {
			uri := split.URI(part)
			if qualified, err := fsys.Qualify(uri); err == nil { // else it is on another system, which only its source knows
				uri = qualified
			}
			at := placeOf(uri)
			for i, dir := range places {
				if at.within(dir) {
					return fmt.Errorf("input %s lies in the output %s: choose another output", uri, outputs[i])
				}
			}
		}
	}
	return nil
}

// checkOutputs checks the outputs, and returns the directories that each vertex
// writes.
func (c *Compiled) checkOutputs(ctx context.Context, fsys filesystem.FileSystem) ([][]string, error) {
	var dirs []string // of all vertices
	outputs := make([][]string, len(c.vertices))
	for _, v := range c.vertices {
		for _, n := range v.nodes {
			if n.sink == nil {
				continue
			}
			own, err := n.sink.check(ctx, connector.Planning{FileSystem: fsys, Parallelism: n.parallelism, Found: func(int) {}})
			if err != nil {
				return nil, err
			}
			for _, uri := range own {
				dir, err := fsys.Qualify(uri)
				if err != nil {
					return nil, fmt.Errorf("output %s: %w", uri, err)
				}
				for _, other := range dirs {
					if a, b := placeOf(dir), placeOf(other); a.within(b) || b.within(a) {
						return nil, fmt.Errorf("output %s and output %s overlap: change one of them", other, dir)
					}
				}
				dirs = append(dirs, dir)
				outputs[v.id] = append(outputs[v.id], dir)
			}
		}
	}
	return outputs, nil
}

// place is where a qualified URI is. Two of them are equal if the texts of the URIs alone tell that they are the same place.
type place struct{ root, path string }

// placeOf takes hosts as the same in any case, and the port of a NameNode as 8020 if there is none, as Hadoop does.
func placeOf(uri string) place {
	root, path := filesystem.Split(uri)
	root = strings.ToLower(root)
	if strings.HasPrefix(root, "hdfs://") {
		root = strings.TrimSuffix(root, ":8020")
	}
	return place{root, path}
}

// within reports whether a place is dir or lies in it.
func (p place) within(dir place) bool {
	return p.root == dir.root && (p.path == dir.path || strings.HasPrefix(p.path, strings.TrimSuffix(dir.path, "/")+"/"))
}
