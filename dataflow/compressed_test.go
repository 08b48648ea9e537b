package dataflow_test

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
)

type packArgs struct {
	Input, Output string
	Format        dataflow.Compression
}

// packs writes its input in another format.
var packs = dataflow.Job("packs", func(p *dataflow.Plan, a packArgs) error {
	dataflow.WriteText(dataflow.ReadText(p, a.Input), a.Output, text, dataflow.Compressed(a.Format))
	return nil
})

// A job reads what another one has written, in each format. It would catch an empty part that cannot be read,
// and an argument that loses the format on its way.
func TestCompressedOutputIsInput(t *testing.T) {
	t.Parallel()
	var want []string
	for i := range 1000 {
		want = append(want, strconv.Itoa(i))
	}
	for format, end := range map[dataflow.Compression]string{dataflow.Gzip: ".gz", dataflow.Zstd: ".zst", "": ""} {
		files := dataflowtest.NewFiles(map[string]string{"/in/a": strings.Join(want, "\n"), "/in/b": ""})
		options := dataflowtest.Options{FileSystem: files, Parallelism: 3}
		dataflowtest.Run(t, packs, packArgs{"/in", "/packed", format}, options)
		dataflowtest.Run(t, packs, packArgs{"/packed", "/out", ""}, options)
		if diff := cmp.Diff(sorted(slices.Clone(want)), outputLines(files.Files(), "/out")); diff != "" {
			t.Errorf("%q: lines (-want +got):\n%s", format, diff)
		}
		for i := range 3 {
			part := path.Join("/packed", "part-0000"+strconv.Itoa(i)+end)
			if content, is := files.Files()[part]; !is || content == "" && end != "" {
				t.Errorf("%q: part %s has %d bytes", format, part, len(content))
			}
		}
	}
}
