package dataflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

var errCodec = errors.New("this value cannot be encoded")

// picky has a codec that refuses some values: "e…" when they are encoded, "d…"
// when decoded, "o…" when they are to be owned.
type picky struct{ text string }

var pickyCodec = dataflow.Codec[picky]{
	Name: "picky",
	Append: func(dst []byte, v picky) ([]byte, error) {
		return append(dst, v.text...), refuse(v.text, "e")
	},
	Decode: func(src []byte) (picky, error) { return picky{string(src)}, refuse(string(src), "d") },
	Own:    func(v picky) (picky, error) { return v, refuse(v.text, "o") },
}

func refuse(text, prefix string) error {
	if strings.HasPrefix(text, prefix) {
		return errCodec
	}
	return nil
}

type pickyArgs struct{ Input, Way string }

var pickyJob = dataflow.Job("picky", func(p *dataflow.Plan, a pickyArgs) error {
	s := dataflow.Map(dataflow.ReadText(p, a.Input), func(line []byte) picky { return picky{string(line)} }, dataflow.WithCodec(pickyCodec))
	one := func(picky) int64 { return 1 }
	switch a.Way {
	case "exchange":
		dataflow.Print(s, pickyText, dataflow.Parallelism(2))
	case "union":
		dataflow.Print(dataflow.Union(dataflow.ReadText(p, a.Input), dataflow.Map(s, func(v picky) []byte { return []byte(v.text) })), text)
		dataflow.Print(dataflow.Union(s, dataflow.Filter(s, func(picky) bool { return true }, dataflow.Parallelism(2))), pickyText)
	case "key":
		sums := dataflow.Sum(dataflow.KeyBy(s, dataflow.Identity, dataflow.WithCodec(pickyCodec)), one)
		dataflow.Print(sums, func(dst []byte, kv dataflow.KV[picky, int64]) []byte { return number(dst, kv.Value) })
	case "value":
		all := dataflow.Reduce(dataflow.KeyBy(s, one), worse)
		dataflow.Print(all, func(dst []byte, kv dataflow.KV[int64, picky]) []byte { return pickyText(dst, kv.Value) })
	case "collect":
		dataflow.Collect(s, pickies)
	}
	return nil
})

var pickies = dataflow.NewCollector[picky]("pickies", dataflow.WithCodec(pickyCodec))

// worse is the argument that a codec may refuse.
func worse(a, b picky) picky {
	if b.text == "fine" {
		return a
	}
	return b
}

func pickyText(dst []byte, v picky) []byte { return append(dst, v.text...) }

// A value that a codec refuses must fail the job in each place, and the error says in which one. A skipped
// value would make the result wrong.
func TestWhatACodecRefusesFailsTheJob(t *testing.T) {
	t.Parallel()
	for way, bad := range map[string]string{"exchange": "ed", "union": "ed", "key": "ed", "value": "edo", "collect": "ed"} {
		for refused := range strings.SplitSeq(bad, "") {
			files := dataflowtest.NewFiles(map[string]string{"/in": "fine\n" + refused + "vil\nfine\n"})
			_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), pickyJob, pickyArgs{"/in", way})
			var failure *dataflow.OperatorError
			if !errors.Is(err, errCodec) || !errors.As(err, &failure) || failure.Operator == "" || errors.As(failure.Err, &failure) {
				t.Errorf("%s, refused by %q: error %v, want the codec's with one operator", way, refused, err)
			}
		}
		files := dataflowtest.NewFiles(map[string]string{"/in": "fine\n"})
		dataflowtest.Run(t, pickyJob, pickyArgs{"/in", way}, dataflowtest.Options{FileSystem: files})
	}
}

var panicking = dataflow.Job("panicking", func(p *dataflow.Plan, input string) error {
	numbers := dataflow.Map(dataflow.ReadText(p, input), parse)
	dataflow.WriteText(numbers, "/out", number)
	return nil
})

// The task must pass a panic on, and still close its files. The test's leak check
// sees the goroutine that reads ahead.
func TestAPanicOfUserCodePassesThroughTheTask(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": "1\n2\nthree\n" + strings.Repeat("4\n", 4<<20)})
	_, err := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files}).Execute(t.Context(), panicking, "/in")
	if err == nil || !strings.Contains(err.Error(), `parsing "three"`) || !strings.Contains(err.Error(), "dataflow_test.parse") {
		t.Errorf("error %.300v, want the panic with its stack", err)
	}
	if _, committed := files.Files()["/out/_SUCCESS"]; committed {
		t.Error("the output of a job that panicked is committed")
	}
}

var collectRepeated = dataflow.Job("collect-repeated", func(p *dataflow.Plan, times int) error {
	repeated := dataflow.Map(dataflow.ReadText(p, "/in"), func(line []byte) []byte { return []byte(strings.Repeat(string(line), times)) })
	dataflow.Collect(repeated, lineCollector)
	return nil
})

func TestCollectedElementsFitTheirBatches(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(map[string]string{"/in": strings.Repeat("0123456789\n", 50)})
	env := dataflowtest.NewEnv(dataflowtest.Options{FileSystem: files})
	result, err := env.Execute(t.Context(), collectRepeated, 6000) // 3 MB in all, 60 KB each
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dataflow.Collected(result, lineCollector); err != nil || len(got) != 50 || len(got[49]) != 60_000 {
		t.Errorf("%d elements, error %v", len(got), err)
	}
	_, err = env.Execute(t.Context(), collectRepeated, operator.MaxCollectBatch/10)
	if !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), "write the elements to files instead") {
		t.Errorf("error %v, want a permanent one that names the remedy", err)
	}
}
