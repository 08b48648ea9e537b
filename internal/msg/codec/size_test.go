package codec_test

import (
	"bytes"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/testing/heldtest"
)

// FuzzDecodedSize decodes what a user's program may send as a job. It would catch a job that takes more memory than it counts for, and
// with that the whole ApplicationMaster.
func FuzzDecodedSize(f *testing.F) {
	planned, err := codec.Encode(msg.ExecuteJob{Graph: jobgraph.JobGraph{
		Name: "größer", Args: []byte(`"x"`), Config: map[string]string{"parallelism.default": "4"},
		Vertices: []jobgraph.Vertex{{
			Name: "read", Operators: []string{"read"}, Parallelism: 4, Source: true, Outputs: []string{"hdfs://nn/out"},
			Splits: []jobgraph.Split{{Base: "hdfs://nn/in/", Parts: []jobgraph.Part{{Name: "a", Length: 7}}, Hosts: []string{"n1", "n2", "n3"}}},
		}},
		Edges: []jobgraph.Edge{{To: 1, Pattern: jobgraph.AllToAll, Type: "string"}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(planned)
	const head = "\x82\x6aExecuteJob\xa1\x65Graph\xa1"
	many := func(elements string) string { return "\x99\x01\x2c" + string(bytes.Repeat([]byte(elements), 300)) }
	options := []byte("\xb8\xc8") // of 200
	for i := range byte(200) {
		options = append(options, 0x62, 'a'+i/20, 'a'+i%20, 0x60)
	}
	for _, graph := range []string{
		"\x68vertices" + many("\xf6"), "\x68vertices" + many("\xa0"), "\x68VERTICES" + many("\x01"), "\x65edges" + many("\xa0"),
		"\x68vertices\x81\xa1\x66splits" + many("\xf6"), "\x68vertices\x81\xa1\x69operators" + many("\x60"),
		"\x68vertices\x81\xa1\x66splits\x81\xa2\x65parts" + many("\xa0") + "\x65hosts" + many("\xf6"),
		"\x66config" + string(options), "\x66CONFIG" + string(options), "\x7f\x63con\x63fig\xff" + string(options), "\x64args" + many("\x01"),
	} {
		f.Add([]byte(head + graph))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := codec.Decode(data, msg.DriverToStarter)
		if err != nil {
			return
		}
		if held, size := heldtest.By(m), codec.DecodedSize(data); held > size {
			t.Errorf("%d bytes hold %d as %s, and count as %d: %x", len(data), held, msg.Kind(m), size, data[:min(len(data), 100)])
		}
	})
}
