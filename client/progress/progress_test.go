package progress

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// clock is the time, which a test sets.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func printer(terminal bool) (*Printer, *bytes.Buffer, *clock) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1, 0)}
	p := New(&out)
	p.terminal, p.now = terminal, c.time
	return p, &out, c
}

// TestLogStaysShort would catch a log file with a line for each block of an upload, one without any line about it, and one with
// the same line each minute.
func TestLogStaysShort(t *testing.T) {
	p, out, c := printer(false)
	for done := range int64(251) {
		p.Moving("bobbin", "uploading bobbin: "+Bytes(done<<20, 250<<20))
		c.now = c.now.Add(500 * time.Millisecond) // 2 minutes in all
	}
	p.Moving("program", "uploading program: 1 of 1 MB")
	p.Line("submitted")
	for range 1000 {
		p.Moving("job", "1 of 2 tasks done") // nothing happens for hours
		c.now = c.now.Add(10 * time.Second)
	}
	p.Line("job FINISHED")
	const want = `uploading bobbin: 20 of 250 MB
uploading bobbin: 140 of 250 MB
uploading bobbin: 250 of 250 MB
uploading program: 1 of 1 MB
submitted
1 of 2 tasks done
job FINISHED
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestTerminalLineIsWrittenOver would catch the rest of a longer line that remains after a shorter one, and a
// new version for each block.
func TestTerminalLineIsWrittenOver(t *testing.T) {
	p, out, c := printer(true)
	p.Moving("job", "10 of 20 tasks")
	p.Moving("job", "11 of 20 tasks") // too soon
	c.now = c.now.Add(time.Second)
	p.Moving("job", "9 of 20 tasks")
	p.Moving("job", "20 of 20 tasks") // too soon, and the last version
	p.Line("job FINISHED")
	want := "\r10 of 20 tasks\r9 of 20 tasks \r20 of 20 tasks\njob FINISHED\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// TestANarrowTerminalShowsTheBeginOfTheLine would catch a moving line that wraps: each version of it would
// remain on the screen. It would catch a last version that breaks words, or contains the rest of the previous
// one.
func TestANarrowTerminalShowsTheBeginOfTheLine(t *testing.T) {
	p, out, c := printer(true)
	p.width = func() int { return 12 }
	p.Moving("job", "read 1 of 20 MB")
	c.now = c.now.Add(time.Second)
	p.Moving("job", "read 20 MB")
	c.now = c.now.Add(time.Second)
	p.Moving("job", "read 20 of 20 MB")
	p.Line("job FINISHED")
	want := "\rread 1 of …\rread 20 MB \rread 20 of…\rread 20 of \n20 MB\njob FINISHED\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// TestAQuestionIsLeftBeforeOtherLines would catch a message on the line of a prompt, and a prompt in a file.
func TestAQuestionIsLeftBeforeOtherLines(t *testing.T) {
	p, out, _ := printer(true)
	p.Moving("job", "half")
	p.Ask("> ")
	p.Answered() // the terminal has shown the answer, and the end of its line
	p.Line("what?")
	p.Ask("> ")
	p.Line("it has ended")
	want := "\rhalf\n> what?\n> \nit has ended\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	p, out, _ = printer(false)
	p.Ask("> ")
	p.Line("it has ended")
	if got, want := out.String(), "it has ended\n"; got != want {
		t.Errorf("into a file it wrote %q, want %q", got, want)
	}
}

// TestOtherTextHasLinesOfItsOwn would catch records of a job inside the moving line.
func TestOtherTextHasLinesOfItsOwn(t *testing.T) {
	p, out, _ := printer(true)
	records := p.Beside(out)
	p.Moving("job", "half")
	fmt.Fprintln(records, "1> a")
	fmt.Fprintln(records, "1> b")
	p.Moving("job", "all")
	p.Finish()
	p.Finish()
	want := "\rhalf\n1> a\n1> b\n\rall\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// TestAmountsHaveOneUnit would catch an amount without meaning: 0 of 0 MB.
func TestAmountsHaveOneUnit(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{0, 0, "0 of 0 bytes"},
		{19, 19, "19 of 19 bytes"},
		{1, 10 << 10, "1 of 10 KB"},
		{10<<20 - 1, 10<<20 - 1, "10240 of 10240 KB"},
		{120 << 20, 200 << 20, "120 of 200 MB"},
		{1, 20<<20 + 1, "1 of 21 MB"},
		{0, 3 << 40, "0 of 3145728 MB"},
	} {
		if got := Bytes(c.done, c.total); got != c.want {
			t.Errorf("Bytes(%d, %d) = %q, want %q", c.done, c.total, got, c.want)
		}
	}
}

// TestJobTellsBytesWhereThereAreAny would catch a job that reads more than its input.
func TestJobTellsBytesWhereThereAreAny(t *testing.T) {
	graph := jobgraph.JobGraph{Vertices: []jobgraph.Vertex{
		{Splits: []jobgraph.Split{{Parts: []jobgraph.Part{{Length: 90 << 20}, {Length: 10 << 20}}}, {Parts: []jobgraph.Part{{Length: 60 << 20}}}}},
		{},
		{Splits: []jobgraph.Split{{Parts: []jobgraph.Part{{Length: 40 << 20}}}}},
	}}
	job := Job{Finished: 2, Tasks: 9, Read: 120 << 20, Input: Input(&graph)}
	if got, want := job.String(), "read 120 of 200 MB, 2 of 9 tasks done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	job.Read = 200<<20 + 1
	if got, want := job.String(), "read 200 of 200 MB, 2 of 9 tasks done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Job{Finished: 1, Tasks: 3}).String(), "1 of 3 tasks done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAListingIsToldAtOnce would catch seconds without a line in a log, and a line for each of them.
func TestAListingIsToldAtOnce(t *testing.T) {
	p, out, c := printer(false)
	for second := range 70 {
		p.Listing(1000 * second)
		c.now = c.now.Add(time.Second)
	}
	p.Line("submitted")
	want := "listing input: 0 files\nlisting input: 60000 files\nlisting input: 69000 files\nsubmitted\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	p, out, c = printer(true)
	p.Listing(5)
	c.now = c.now.Add(time.Second)
	p.Listing(10)
	p.Finish()
	if got, want := out.String(), "\rlisting input: 5 files\rlisting input: 10 files\n"; got != want {
		t.Errorf("on a terminal it wrote %q, want %q", got, want)
	}
}
