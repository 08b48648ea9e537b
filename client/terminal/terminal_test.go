package terminal

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWidthsAreThoseOfTheScreen would catch misaligned rows with Chinese names, and a name that is cut inside a
// character.
func TestWidthsAreThoseOfTheScreen(t *testing.T) {
	for _, c := range []struct {
		text  string
		cells int
		five  string // of it
	}{
		{"", 0, ""},
		{"words", 5, "words"},
		{"wordcount", 9, "word…"},
		{"größer", 6, "größ…"},
		{"gro\u0308ße", 5, "gro\u0308ße"}, // the dots are a character of their own
		{"每晚统计", 8, "每晚…"},
		{"a每晚统计", 9, "a每…"}, // 晚 would take two
		{"🧵 yarn", 7, "🧵 y…"},
	} {
		if got := Cells(c.text); got != c.cells {
			t.Errorf("%q takes %d cells, want %d", c.text, got, c.cells)
		}
		if got := Shorten(c.text, 5); got != c.five {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.five)
		}
	}
}

// TestShortTextsFit would catch a text that is still too wide, or is cut without need.
func TestShortTextsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, room := rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "room")
		got := Shorten(text, room)
		if Cells(got) > room {
			t.Errorf("%q takes %d cells of %d", got, Cells(got), room)
		}
		if Cells(text) <= room && got != text || Cells(text) > room && Cells(got) < room-2 {
			t.Errorf("%q is all that is left of %q for %d cells", got, text, room)
		}
	})
}

// TestLinesAreBrokenBetweenWords would catch broken words, and ids that cannot be copied.
func TestLinesAreBrokenBetweenWords(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		want    string
	}{
		{"no terminal", 0, "job:  application_1 is lost"},
		{"there is room", 29, "job:  application_1 is lost"},
		{"two cells are missing", 27, "job: application_1 is\n  lost"},
		{"a word takes a line", 15, "job:\n  application_1\n  is lost"},
		{"a word takes more than a line", 14, "job:\n application_1\n  is lost"},
		{"a word takes more than the screen", 9, "job:\napplication_1\n  is lost"},
	} {
		if got := Hang("job:  application_1 is lost", 2, 2, c.columns); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAFileIsNoScreen would catch a file whose lines depend on a terminal.
func TestAFileIsNoScreen(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stream := range []any{file, new(bytes.Buffer), nil} {
		if Is(stream) || Columns(stream) != 0 {
			t.Errorf("%T is a terminal of %d columns", stream, Columns(stream))
		}
	}
}

func applications() *Table {
	table := &Table{Columns: []Column{
		{Title: "application"}, {Title: "name", Long: true}, {Title: "queue", Long: true}, {Title: "used (MB)"}, {Title: "URL", Below: true},
	}}
	table.Add("application_1_0001", "wordcount of the night", "root.nightly", 512, "http://rm:8088/1/")
	table.Add("application_1_0002", "每晚统计\x1b[2J", "default", 1024, "")
	return table
}

// TestTablesFitTheScreen would catch rows that wrap, a name that is shortened without need, and a shortened id,
// number or address.
func TestTablesFitTheScreen(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		want    string
	}{
		{"no terminal", 0, `
APPLICATION         NAME                    QUEUE         USED (MB)  URL
application_1_0001  wordcount of the night  root.nightly  512        http://rm:8088/1/
application_1_0002  每晚统计` + "\x1b[2J" + `                default       1024       
`},
		{"there is room", 86, `
APPLICATION         NAME                    QUEUE         USED (MB)  URL
application_1_0001  wordcount of the night  root.nightly  512        http://rm:8088/1/
application_1_0002  每晚统计�[2J            default       1024       
`},
		{"the longest text is shortened first", 80, `
APPLICATION         NAME              QUEUE         USED (MB)  URL
application_1_0001  wordcount of th…  root.nightly  512        http://rm:8088/1/
application_1_0002  每晚统计�[2J      default       1024       
`},
		{"then all that may be", 68, `
APPLICATION         NAME      QUEUE     USED (MB)  URL
application_1_0001  wordcou…  root.ni…  512        http://rm:8088/1/
application_1_0002  每晚统…   default   1024       
`},
		{"what may stand below does", 60, `
APPLICATION         NAME             QUEUE         USED (MB)
  URL
application_1_0001  wordcount of t…  root.nightly  512
  http://rm:8088/1/
application_1_0002  每晚统计�[2J     default       1024
`},
		{"a value has a line", 40, `
application: application_1_0001
name: wordcount of the night
queue: root.nightly
used (MB): 512
URL: http://rm:8088/1/

application: application_1_0002
name: 每晚统计�[2J
queue: default
used (MB): 1024
`},
		{"or more", 20, `
application:
  application_1_0001
name: wordcount of
  the night
queue: root.nightly
used (MB): 512
URL:
  http://rm:8088/1/

application:
  application_1_0002
name: 每晚统计�[2J
queue: default
used (MB): 1024
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := applications()
			if c.columns > 0 {
				table.rows = table.visible()
			}
			if diff := cmp.Diff(c.want, "\n"+table.text(c.columns)); diff != "" {
				t.Errorf("%d columns (-want +got):\n%s", c.columns, diff)
			}
		})
	}
}

// TestLinesOfAFormatFitTheScreen would catch a line that is shortened because another one is too wide, and
// lines in two forms.
func TestLinesOfAFormatFitTheScreen(t *testing.T) {
	table := Table{Columns: []Column{{Title: "job"}, {Title: "name", Long: true}, {Title: "state"}}, Line: "%s : %s (%s)"}
	table.Add("0001", "wordcount of the night", "RUNNING")
	table.Add("0002", "a longer word", "CREATED")
	for columns, want := range map[int]string{
		0:  "0001 : wordcount of the night (RUNNING)\n0002 : a longer word (CREATED)\n",
		39: "0001 : wordcount of the night (RUNNING)\n0002 : a longer word (CREATED)\n",
		30: "0001 : wordcount of… (RUNNING)\n0002 : a longer word (CREATED)\n",
		25: "0001 : wordcou… (RUNNING)\n0002 : a longe… (CREATED)\n",
		24: "job: 0001\nname: wordcount of the\n  night\nstate: RUNNING\n\njob: 0002\nname: a longer word\nstate: CREATED\n",
	} {
		if diff := cmp.Diff(want, table.text(columns)); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
	if got := (&Table{Columns: table.Columns, Line: table.Line}).text(40); got != "" {
		t.Errorf("without rows: %q", got)
	}
}

// TestFactsFitTheScreen would catch a value that continues below the names.
func TestFactsFitTheScreen(t *testing.T) {
	facts := Facts{{"application", "application_1_0001 (words)"}, {"jobs", "1 running, 2 finished"}}
	for columns, want := range map[int]string{
		0:  "application  application_1_0001 (words)\njobs         1 running, 2 finished\n",
		39: "application  application_1_0001 (words)\njobs         1 running, 2 finished\n",
		38: "application  application_1_0001\n             (words)\njobs         1 running, 2 finished\n",
		30: "application:\n  application_1_0001 (words)\njobs: 1 running, 2 finished\n",
	} {
		if diff := cmp.Diff(want, facts.text(columns)); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
}

// TestNoRowIsWiderThanTheScreen would catch a form that does not fit, and shortened ids.
func TestNoRowIsWiderThanTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Table{Columns: []Column{{Title: "id"}, {Title: "name", Long: true}, {Title: "queue", Long: true}, {Title: "URL", Below: rapid.Bool().Draw(t, "below")}}}
		columns := rapid.IntRange(15, 120).Draw(t, "columns")
		var ids []string
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			ids = append(ids, rapid.StringMatching(`[0-9a-f]{1,9}`).Draw(t, "id"))
			table.Add(ids[len(ids)-1], rapid.StringMatching(`[a-z每]{0,9}`).Draw(t, "name"),
				rapid.StringMatching(`[a-z每]{0,40}`).Draw(t, "queue"), rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "URL"))
		}
		text := table.text(columns)
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); Cells(line) > columns && strings.Contains(line, " ") {
				t.Errorf("%q takes %d cells of %d", line, Cells(line), columns)
			}
		}
		for _, id := range ids {
			if !strings.Contains(text, id) {
				t.Errorf("%s is not in:\n%s", id, text)
			}
		}
	})
}
