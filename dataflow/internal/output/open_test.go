package output_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
)

// A master opens the output in each state that earlier masters may have left it in.
func TestOpenLeavesTheDirectoryOfTheEpoch(t *testing.T) {
	t.Parallel()
	const part = "/a/part-00000"
	for name, c := range map[string]struct {
		before  map[string]string
		earlier output.Earlier
		after   map[string]string
		err     error
	}{
		"nothing":                          {nil, output.Dropped, map[string]string{"/out/_temporary/job/e5/": ""}, nil},
		"nothing of what is recorded":      {nil, output.Recorded, map[string]string{"/out/_temporary/job/e5/": ""}, nil},
		"opened already":                   {map[string]string{"/out/_temporary/job/e5/": ""}, output.Dropped, map[string]string{"/out/_temporary/job/e5/": ""}, nil},
		"unfinished parts":                 {map[string]string{"/out/_temporary/job/e4" + part: "x"}, output.Dropped, map[string]string{"/out/_temporary/job/e5/": ""}, nil},
		"recorded parts":                   {map[string]string{"/out/_temporary/job/e4" + part: "x"}, output.Recorded, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil},
		"a half commit":                    {map[string]string{"/out/_temporary/job/e4.b" + part: "x"}, output.Recorded, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil},
		"and a late call's":                {map[string]string{"/out/_temporary/job/e4.b" + part: "x", "/out/_temporary/job/e4/": "", "/out/_temporary/job/e3/": ""}, output.Recorded, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil},
		"the files are taken, old are not": {map[string]string{"/out/_temporary/job/e5" + part: "x", "/out/_temporary/job/e4/": ""}, output.Recorded, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil},
		"tries of the commit past the tenth": {
			map[string]string{"/out/_temporary/job/e4.a10" + part: "x", "/out/_temporary/job/e4.a9/": ""}, output.Recorded, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil,
		},
		"masters past the tenth": {
			map[string]string{"/out/_temporary/job/e10" + part: "x", "/out/_temporary/job/e9/": ""},
			output.Recorded,
			map[string]string{"/out/_temporary/job/e10" + part: "x", "/out/_temporary/job/e9/": ""},
			output.ErrFenced,
		},
		"a later master's": {
			map[string]string{"/out/_temporary/job/e6" + part: "x"}, output.Dropped, map[string]string{"/out/_temporary/job/e6" + part: "x"}, output.ErrFenced,
		},
		"the result": {map[string]string{"/out/_SUCCESS": "job\n"}, output.Recorded, map[string]string{"/out/_SUCCESS": "job\n"}, nil},
		"another job's result": {
			map[string]string{"/out/_SUCCESS": "one\n"}, output.Recorded, map[string]string{"/out/_SUCCESS": "one\n", "/out/_temporary/job/e5/": ""}, nil,
		},
		"another job's files": {
			map[string]string{"/out/_temporary/other/e9" + part: "x"},
			output.Dropped,
			map[string]string{"/out/_temporary/other/e9" + part: "x", "/out/_temporary/job/e5/": ""},
			nil,
		},
		"a commit of which nothing is recorded": {
			map[string]string{"/out/_temporary/job/e4.b" + part: "x"}, output.Dropped, map[string]string{"/out/_temporary/job/e5/": ""}, nil,
		},
		"its marker": {
			map[string]string{"/out/_temporary/job/e4" + part: "x", "/out/_committing-job-e3-b": "job\n"},
			output.Dropped,
			map[string]string{"/out/_temporary/job/e5/": ""},
			nil,
		},
		"parts of finished tasks":    {map[string]string{"/out/_temporary/job/e4" + part: "x"}, output.Kept, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil},
		"no parts of finished tasks": {nil, output.Kept, map[string]string{"/out/_temporary/job/e5/": ""}, nil},
		"an earlier master was later": {
			map[string]string{"/out/_temporary/job/e4" + part: "x", "/out/_temporary/job/e5/": "", "/out/_temporary/job/e3/": ""},
			output.Kept,
			map[string]string{"/out/_temporary/job/e5" + part: "x"},
			nil,
		},
		"parts are taken over, a late call makes an old directory": {
			map[string]string{"/out/_temporary/job/e5" + part: "x", "/out/_temporary/job/e4/": ""}, output.Kept, map[string]string{"/out/_temporary/job/e5" + part: "x"}, nil,
		},
		"a commit, of which a master with kept parts knows nothing": {
			map[string]string{"/out/_temporary/job/e4.b" + part: "x"}, output.Kept, map[string]string{"/out/_temporary/job/e5/": ""}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesystemOf(t, c.before)
			o := output.Output{Dir: "mem:///out", Job: "job", Epoch: 5, Mode: output.Replace}
			for range 2 { // the answer of the first call is lost
				err := o.Open(t.Context(), f, c.earlier)
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if diff := cmp.Diff(c.after, f.Files()); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Each call of Open in turn gets no answer, with its effect or without. The test would catch an Open that does not look
// what has happened. Only a directory that cannot be listed, or removed, is an error, which another call mends.
func TestOpenLooksAgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, earlier := range []output.Earlier{output.Dropped, output.Kept, output.Recorded} {
		for _, how := range []command{failBefore, failAfter} {
			for calls, ended := 0, false; !ended; calls++ {
				f := memfs.New(nil)
				j, written := written("job", output.Fail)
				if err := written(t.Context(), f); err != nil {
					t.Fatal(err)
				}
				p := begin(f, asGiven, j.opening(2, earlier))
				p.run(calls)
				if ended = p.ended; !ended {
					listing := p.next.Op == "List"
					p.step(how)
					p.finish(proceed)
					if p.err != nil && !listing {
						t.Errorf("call %d, %v, has no answer: %v", calls, p.next, p.err)
					}
				}
				if err := j.opening(2, earlier)(t.Context(), f); err != nil {
					t.Error(err)
				}
				want := map[string]string{"/out/_temporary/job/e2/": ""}
				if earlier != output.Dropped {
					want = map[string]string{}
					for i, winner := range j.winners {
						want["/out/_temporary/job/e2/"+winner+"/part-0000"+string(rune('0'+i))] = content("job", winner, i)
					}
				}
				if diff := cmp.Diff(want, f.Files()); diff != "" {
					t.Errorf("call %d has no answer (-want +got):\n%s", calls, diff)
				}
			}
		}
	}
}
