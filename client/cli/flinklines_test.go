package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheLinesForFlinkAreUnderstood would catch a command on the page for Flink users that bobbin does not
// accept as the page says, and one that it accepts although the page says that it does not exist.
func TestTheLinesForFlinkAreUnderstood(t *testing.T) {
	content, err := os.ReadFile("../../docs/from-flink.md")
	if err != nil {
		t.Fatal(err)
	}
	const usage = "bobbin: usage: " // the first fault is the missing Hadoop configuration, or the missing program
	const head = "| with Flink | with Bobbin | what differs |\n| --- | --- | --- |\n"
	_, rest, found := strings.Cut(string(content), head)
	if !found {
		t.Fatal("the page has no table of commands")
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	span := regexp.MustCompile("`([^`]+)`")
	taken, refused := 0, 0
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(row, `\|`, "and"), "|")
		theirs, ours := span.FindAllString(cells[1], -1), span.FindAllString(cells[2], -1)
		same := strings.TrimSpace(cells[2]) == "the same"
		if same {
			ours = theirs
		}
		for _, text := range ours {
			if words, is := flinkLine(text); is {
				taken++
				if _, _, stderr := command(t, nil, words...); strings.HasPrefix(stderr, usage) || strings.Contains(stderr, "unknown option") {
					t.Errorf("%s: %s", text, stderr)
				}
			}
		}
		if len(ours) > 0 {
			continue
		}
		for _, text := range theirs {
			refused++
			words, is := flinkLine(text)
			if _, _, stderr := command(t, nil, words...); !is || !strings.HasPrefix(stderr, usage) {
				t.Errorf("%s is taken, and stands among those that are not: %s", text, stderr)
			}
		}
	}
	if taken < 20 || refused < 4 {
		t.Errorf("%d lines are taken, %d refused: is that the whole table?", taken, refused)
	}
}

// flinkLine is the command line of bobbin for a line of the page, with ids that look real. A lone flag has
// none.
func flinkLine(text string) (words []string, is bool) {
	text = strings.NewReplacer("`", "", "APP", "application_1700000000000_0001", "JOB", string(runningJob), "HOST:PORT", "127.0.0.1:1").Replace(text)
	words = strings.Fields(text)
	for i, word := range words {
		switch word {
		case "flink", "bobbin":
			return words[i+1:], true
		case "yarn-session.sh", "scripts/yarn-session.sh":
			return append([]string{"session", "start"}, words[i+1:]...), true
		}
	}
	return nil, false
}
