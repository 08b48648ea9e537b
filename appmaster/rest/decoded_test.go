package rest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/testing/heldtest"
)

// FuzzDecodedSize decodes what anybody may send as a job. It would catch a text that takes more memory than is set aside for its like.
func FuzzDecodedSize(f *testing.F) {
	list := func(of string, n int) string { return "[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]" }
	planned, err := json.Marshal(restapi.JobSubmission{Graph: jobgraph.JobGraph{
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
	f.Add(string(planned), uint8(0))
	options := new(strings.Builder)
	for i := range 450 { // distinct ones
		options.WriteString(`"` + string(rune('0'+i/30)) + string(rune('0'+i%30)) + `":"",`)
	}
	for _, graph := range []string{
		`"vertices":` + list("null", 257), `"vertices":` + list("1", 5), `"VERTICES":` + list("{}", 17), `"vertic\u0065s":` + list("{}", 129), `"edges":` + list("{}", 33),
		`"vertices":[{"splits":` + list(`""`, 65) + `}]`, `"vertices":[{"splits":[{"parts":` + list("{}", 17) + `,"hosts":` + list(`""`, 9) + `}]}]`,
		`"vertices":[{"operators":` + list("null", 33) + `,"outputs":` + list(`""`, 17) + `}]`, `"args":` + list("1", 100), `"config":{` + options.String() + `"a":"b"}`,
		"\"name\":\"" + strings.Repeat("\xff", 300) + `"`, `"name":"` + strings.Repeat(`\ud800\"`, 50) + `"`, `"operators":{"hosts":["hosts",` + list("{}", 9) + `]}`,
	} {
		f.Add(`{"graph":{`+graph+`}}`, uint8(0))
		f.Add(`{"graph":{`+graph+`}}`, uint8(20))
	}
	f.Add(strings.Repeat("[", 12)+strings.Repeat("]", 15), uint8(0))
	f.Fuzz(func(t *testing.T, text string, name uint8) {
		if name > 0 { // a long text leaves room for others
			text = strings.Replace(text, "{", `{"jobId":"`+strings.Repeat("x", len(text)*int(name)/4)+`",`, 1)
		}
		var job restapi.JobSubmission
		refused := json.Unmarshal([]byte(text), &job) // what the decoder does not like it has decoded all the same
		held := heldtest.By(job)
		if size := decodedSize([]byte(text)); held > size {
			t.Errorf("%d bytes of text hold %d, and count as %d (%v): %.300s", len(text), held, size, refused, text)
		}
		if most := budget.Growth * max(len(text), smallBody); fitsDecoded([]byte(text)) == nil && held > most {
			t.Errorf("%d bytes of text hold %d, more than the %d that are set aside: %.300s", len(text), held, most, text)
		}
	})
}
