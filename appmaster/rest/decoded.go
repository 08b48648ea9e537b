package rest

import (
	"reflect"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// smallBody is what the room of a body is at least, in bytes.
const smallBody = 1 << 10

// fitsDecoded refuses a submission that takes more memory than its room has.
func fitsDecoded(text []byte) error {
	most := budget.Growth * max(len(text), smallBody)
	if size := decodedSize(text); size > most {
		return badRequest("the job has %d bytes of JSON, and would take %.1f MiB decoded, where jobs of this length have %.1f: leave out elements that are empty, or divide the job",
			len(text), float64(size)/(1<<20), float64(most)/(1<<20))
	}
	return nil
}

// What a restapi.JobSubmission takes in memory beside its texts, in bytes.
const (
	// ofSubmission is for itself, and for the first few options of its job.
	ofSubmission = 1 << 10
	// ofOption is for one of the job's options, an element of a map.
	ofOption = 80
	// optionsDepth is how deep they lie: {"graph":{"config":{.
	optionsDepth = 3
	// maxDepth is how deep anything lies that is kept.
	maxDepth = 8
)

// ofElement is for an element of a list, by the list's name as planners write it. The decoder doubles a
// list that grows, so each counts twice.
var ofElement = map[string]int{ //nolint:gochecknoglobals // a constant table
	"vertices": twice[jobgraph.Vertex](), "edges": twice[jobgraph.Edge](), "splits": twice[jobgraph.Split](), "parts": twice[jobgraph.Part](),
	"operators": twice[string](), "outputs": twice[string](), "hosts": twice[string](),
}

func twice[T any]() int { return 2 * int(reflect.TypeFor[T]().Size()) }

// decodedSize bounds the memory that a restapi.JobSubmission takes which is decoded from a text: each null in a list of vertices
// would take thirty times its own. What the decoder skips counts as if it were kept, and a list of another name as if it
// were of vertices: there are more ways than one to write a name.
func decodedSize(text []byte) int {
	var (
		size   = ofSubmission + len(text)
		each   [maxDepth + 1]int // what an element takes of each list and object that is open
		depth  int
		quoted bool
		begin  int    // of the last text
		name   []byte // the last text
	)
	enter := func(of int) {
		if depth++; depth <= maxDepth {
			each[depth] = of
			size += of // the first element
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted {
				name = text[begin:i]
			}
			quoted, begin = !quoted, i+1
		case quoted && c >= utf8.RuneSelf:
			size += 2 // what is no UTF-8 becomes U+FFFD, of three bytes
		case quoted:
		case c == '{' && depth+1 == optionsDepth:
			enter(ofOption)
		case c == '{':
			enter(0) // what it is in has counted it
		case c == '[':
			of, known := ofElement[string(name)]
			if !known {
				of = ofElement["vertices"]
			}
			enter(of)
		case c == ',' && depth <= maxDepth:
			size += each[depth]
		case c == ']', c == '}':
			depth = max(0, depth-1)
		}
	}
	return size
}
