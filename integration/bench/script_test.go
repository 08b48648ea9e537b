package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheScriptPreparesForWhatItMeasures runs scripts/bench with fake programs that do nothing. It would catch a file
// that cannot be written, if the script reports it only after minutes, a file in another directory than the caller's,
// and a run of all sections without Flink.
func TestTheScriptPreparesForWhatItMeasures(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	script, err := os.ReadFile("../../scripts/bench")
	if err != nil {
		t.Fatal(err)
	}
	const says = "#!/bin/sh\necho \"${0##*/}\" \"$@\" >>\"$TOLD\"\n"
	for path, content := range map[string]string{
		"scripts/bench": string(script), "scripts/prepare": says, "scripts/flink": says + "echo FLINK\n", "bin/bench": says, "path/go": "#!/bin/sh\n", "from/here": "",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	here := filepath.Join(root, "from")
	for line, want := range map[string]string{
		"":                          "prepare --all\nflink\nbench -flink FLINK -o docs/BENCHMARKS.md\n",
		"-o page.md":                "prepare --all\nflink\nbench -flink FLINK -o " + here + "/page.md\n",
		"-only cold -o page.md":     "prepare\nbench -flink  -only cold -o " + here + "/page.md\n",
		"-o=page.md -only=submit":   "prepare\nflink\nbench -flink FLINK -o " + here + "/page.md -only=submit\n",
		"-only scale,metrics":       "bench -flink  -only scale,metrics\n",
		"-only metrics,exchange":    "bench -flink  -only metrics,exchange\n",
		"-only wordcount,exchange":  "prepare\nflink\nbench -flink FLINK -only wordcount,exchange\n",
		"-only join -growth":        "prepare\nflink\nbench -flink FLINK -only join -growth\n",
		"-only metrics,viewers":     "prepare\nbench -flink  -only metrics,viewers\n",
		"-only protected -calls 10": "prepare --all\nbench -flink  -only protected -calls 10\n",
		"-o":                        "", // and the script has started nothing else
		"-o none/page.md":           "",
		"-o .":                      "",
	} {
		told := filepath.Join(t.TempDir(), "told")
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "bench"), strings.Fields(line)...)
		cmd.Dir, cmd.Env = here, []string{"PATH=" + filepath.Join(root, "path") + ":" + os.Getenv("PATH"), "TOLD=" + told}
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(told) // the file may not exist
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("scripts/bench %s: %v, %s\ndid %q, want %q", line, err, out, got, want)
		}
	}
}
