package randomjobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Check compares what a job has written and collected with the evaluation, and describes the first differences. "" means that
// there are none. files are all files, by path.
func (j Job) Check(files map[string]string, result *dataflow.Result) (string, error) {
	all, err := j.evaluate()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, s := range j.Sinks {
		var got []string
		if s.Collect {
			if got, err = dataflow.Collected(result, collectors[i]); err != nil {
				return "", err
			}
		} else {
			parts := parts(files, output(i))
			for _, part := range parts {
				got = append(got, part...)
			}
			if _, known := j.sinkParallelism(s.Node); known {
				b.WriteString(j.Nodes[s.Node].misordered(s.Node, parts))
			}
		}
		want := make([]string, 0, len(all[s.Node].main))
		for _, r := range all[s.Node].main {
			want = append(want, line(r))
		}
		b.WriteString(difference(fmt.Sprintf("sink %d of %s", i, name(s.Node)), got, want))
	}
	return b.String(), nil
}

// parts returns the lines of each file of an output, in the order of the files.
func parts(files map[string]string, dir string) (all [][]string) {
	var paths []string
	for path := range files {
		if strings.HasPrefix(path, dir+"/part-") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		all = append(all, slices.Collect(strings.SplitSeq(strings.TrimSuffix(files[path], "\n"), "\n")))
		if files[path] == "" {
			all[len(all)-1] = nil
		}
	}
	return all
}

// misordered says where the output of a sort is not in order.
func (n *Node) misordered(at int, parts [][]string) string {
	if n.Op != OpSort && n.Op != OpSortPartition {
		return ""
	}
	last, begun := int64(0), false
	for p, part := range parts {
		begun = begun && n.Op == OpSort
		for i, text := range part {
			key := sortKey(parse(text))
			order := cmp.Compare(last, key)
			if n.Descending {
				order = -order
			}
			if begun && order > 0 {
				return fmt.Sprintf("%s: part %d, line %d: %d comes behind %d\n", name(at), p, i+1, key, last)
			}
			last, begun = key, true
		}
	}
	return ""
}

// difference describes how two multisets of lines differ.
func difference(what string, got, want []string) string {
	slices.Sort(got)
	slices.Sort(want)
	const most = 3
	var b strings.Builder
	shown, g, w := 0, 0, 0
	for shown < most && (g < len(got) || w < len(want)) {
		switch {
		case w == len(want) || g < len(got) && got[g] < want[w]:
			fmt.Fprintf(&b, "\n\ttoo many: %s", shorter(got[g]))
			g, shown = g+1, shown+1
		case g == len(got) || got[g] > want[w]:
			fmt.Fprintf(&b, "\n\tmissing:  %s", shorter(want[w]))
			w, shown = w+1, shown+1
		default:
			g, w = g+1, w+1
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%s has %d elements, want %d:%s\n", what, len(got), len(want), b.String())
}
