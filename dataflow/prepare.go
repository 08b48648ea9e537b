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
		if err := apart(found, slices.Concat(outputs...)); err != nil {
			return jobgraph.JobGraph{}, err
		}
		g.Vertices[v.id].Splits = found
	}
	return c.choose(g)
}

// apart returns an error if an input lies in an output directory, because the
// commit may replace the content of that directory.
func apart(found []jobgraph.Split, outputs []string) error {
	for _, split := range found {
		for _, part := range split.Parts {
			for _, dir := range outputs {
				if uri := split.URI(part); within(uri, dir) {
					return fmt.Errorf("input %s lies in the output %s: choose another output", uri, dir)
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
					if within(dir, other) || within(other, dir) {
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

// within reports whether a qualified URI is dir or lies in it.
func within(uri, dir string) bool {
	return uri == dir || strings.HasPrefix(uri, strings.TrimSuffix(dir, "/")+"/")
}
