package lint

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDocumentationOfTheRepository(t *testing.T) {
	files := trackedFiles(t)
	pages := 0
	for name, content := range files {
		if strings.HasSuffix(name, ".md") && !inTestdata(name) {
			pages++
			report(t, Links(name, content, files))
			report(t, Snippets(name, content, files))
			report(t, Commands(name, content))
			report(t, Messages(name, content, files))
		}
	}
	if pages < 5 {
		t.Fatalf("only %d pages found", pages)
	}
}

// ofRepository returns a small repository for the tests below.
func ofRepository(page string) map[string][]byte {
	return map[string][]byte{
		"README.md": []byte(page), "docs/a.md": []byte("# X\n```sh\n# y\n```\n"), "appmaster/core.go": []byte("package a\n\nfunc f() {\n\tg()\n\th()\n}\n"), "bobbin.go": nil,
	}
}

func TestLinkRules(t *testing.T) {
	for text, complaints := range map[string]int{
		"see [a](docs/a.md), [b](docs/a.md#x) and [c](https://example.com/no.md)":  0,
		"# What it is: X-y\n[x](#what-it-is-x-y)":                                  0,
		"`appmaster/core.go`, `./appmaster`, `appmaster/`, `core.go`, `bobbin.go`": 0,
		"`core*.go`, `appmaster/<x>.go`, `hdfs:///a/b`, `conf/x.yaml`, `a b/c.go`": 0,
		"```sh\ncat `appmaster/gone.go`\n```":                                      0,
		"`f` in `appmaster/core.go`, and `g` in docs":                              0,
		"`g` in\n`appmaster/core.go`, `f` in `bobbin.go`":                          2, // called there, declared elsewhere
		"[a](docs/b.md)":              1,
		"[a](docs/a.md#y)":            1,
		"# Y\n[x](#x)":                1,
		"`appmaster/gone.go`":         1,
		"`jobmaster/core.go`":         1, // the path is not complete
		"`docs/gone`, and `gone.go`.": 2,
	} {
		files := ofRepository(text)
		if got := Links("README.md", files["README.md"], files); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", text, got, complaints)
		}
	}
}

func TestLinksAreRelativeToTheirPage(t *testing.T) {
	files := ofRepository("")
	maps.Copy(files, map[string][]byte{"docs/b.md": []byte("[up](../README.md) [beside](a.md) [wrong](README.md)")})
	if got := Links("docs/b.md", files["docs/b.md"], files); len(got) != 1 {
		t.Errorf("complaints %q, want one about README.md beside the page", got)
	}
}

func TestSnippetRules(t *testing.T) {
	for text, complaints := range map[string]int{
		"```go\nfunc f() {\n\tg()\n```":      0,
		"- x\n\n```go\ng()\nh()\n```\n":      0,
		"```go\nfunc f() {\n\th()\n```":      1,
		"```go\n() {\n```":                   1,
		"```go\nold()\n```\n```go\ng()\n```": 1,
		"```text\nold()\n```":                0,
	} {
		files := ofRepository(text)
		if got := Snippets("README.md", files["README.md"], files); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", text, got, complaints)
		}
	}
}

// It would catch commands that no test runs.
func TestCommandRules(t *testing.T) {
	for text, complaints := range map[string]int{
		"```sh\nbobbin run x\n```\n```text\nit runs\n```\n":                              0,
		"```text\n $ bobbin run x\n│ bobbin run │\n  bobbin  \nmakes\nbobbins 3\n```":    0,
		"bobbin run\n\n```go\ngo f()\n```":                                               0,
		"```text\nkinit\nbobbin doctor -t x\n```":                                        2,
		"```text\nexport A=b\n```\n\n```sh\nls\n```\n\n```text\nscripts/cluster up\n```": 2,
		"- x\n\n```text\n./mine --input a\n```":                                          1,
	} {
		if got := Commands("README.md", []byte(text)); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", text, got, complaints)
		}
	}
}

func TestMessageRules(t *testing.T) {
	for text, complaints := range map[string]int{
		"| you see | x |\n| --- | --- |\n| `func f() … h()` | `gone` |\n": 0,
		"| you see | x |\n| --- | --- |\n| `func f() … i()` | `gone` |\n": 1,
		"| you see | x |\n\n| to | x |\n| `i()` | x |\n":                  0,
	} {
		files := ofRepository(text)
		if got := Messages("README.md", files["README.md"], files); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", text, got, complaints)
		}
	}
}

// TestFailuresAndTheirSchedules would catch a failure in a table that no schedule of the simulation shows and for
// which the page gives no reason, a schedule that does not exist, and one that the guarantees do not name.
func TestFailuresAndTheirSchedules(t *testing.T) {
	files := trackedFiles(t)
	names := make(map[string]bool)
	for _, found := range regexp.MustCompile(`(?m)^\t"([^"]+)": +\{`).FindAllStringSubmatch(string(files["integration/sim/named_test.go"]), -1) {
		names[found[1]] = true
	}
	unnamed := maps.Clone(names)
	for _, name := range shownIn(t, string(files["docs/reliability.md"]), "Failures", 3, names) {
		delete(unnamed, name)
	}
	if len(names) == 0 || len(unnamed) > 0 {
		t.Errorf("docs/reliability.md does not name %q of %d schedules", slices.Sorted(maps.Keys(unnamed)), len(names))
	}
	shownIn(t, string(files["docs/ARCHITECTURE.md"]), "Detection of failures", 4, names)
}

// TestStepsAndTheirTranscripts would catch a transcript on the page of Flink's steps that does not exist, and a step
// without a transcript, a test or a reason. Links checks the tests.
func TestStepsAndTheirTranscripts(t *testing.T) {
	files := trackedFiles(t)
	folders := map[string]string{
		"dispatcher": "appmaster/dispatcher", "jobmaster": "appmaster/jobmaster", "tokenmanager": "appmaster/tokenmanager",
		"resourcemanager": "appmaster/resourcemanager", "yarnworkers": "appmaster/resourcemanager/yarnworkers",
		"taskexecutor": "taskrunner/taskexecutor", "taskhost": "taskrunner/taskhost",
	}
	transcript := regexp.MustCompile("`([a-z]+)/([a-z_]+)`")
	shown := regexp.MustCompile("_test\\.go`|schedule `|^(no meaning|not built yet)[^:]*: .")
	rows := 0
	for line := range strings.Lines(string(files["docs/flink-steps.md"])) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || strings.HasPrefix(line, "| ---") || strings.HasSuffix(cells[1], "in Bobbin |") {
			continue
		}
		rows++
		found := false
		for _, name := range transcript.FindAllStringSubmatch(cells[1], -1) {
			folder, isRole := folders[name[1]]
			if file := folder + "/testdata/" + name[2] + ".txt"; isRole && !hasPath(files, file) {
				t.Errorf("docs/flink-steps.md names the transcript %s, and %s is not there", name[0], file)
			}
			found = found || isRole
		}
		if !found && !shown.MatchString(cells[1]) {
			t.Errorf("docs/flink-steps.md has no transcript, no test and no reason for: %s", line)
		}
	}
	if rows == 0 {
		t.Error("docs/flink-steps.md has no steps")
	}
}

// shownIn returns the schedules in the last column of a section's tables of failures.
func shownIn(t *testing.T, page, heading string, columns int, names map[string]bool) (shown []string) {
	t.Helper()
	_, section, _ := strings.Cut(page, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 || strings.HasPrefix(cells[1], " failure ") || strings.HasPrefix(cells[1], " ---") {
			continue
		}
		rows++
		last := cells[len(cells)-2]
		outside, named := strings.HasPrefix(last, " outside: "), codeSpan.FindAllStringSubmatch(last, -1)
		switch {
		case len(cells) != columns+2, len(named) == 0 && !outside:
			t.Errorf("no schedule and no reason: %s", line)
			continue
		case outside:
			continue
		}
		for _, name := range named {
			if shown = append(shown, name[1]); !names[name[1]] {
				t.Errorf("%q is not a schedule of integration/sim/named_test.go", name[1])
			}
		}
	}
	if rows == 0 {
		t.Errorf("no table of failures below %q", heading)
	}
	return shown
}
