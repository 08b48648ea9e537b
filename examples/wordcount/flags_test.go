package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Args{
		"--input a":              {Input: []string{"a"}},
		"--input a b --output o": {Input: []string{"a", "b"}, Output: "o"},
		"--input=a --input b --output=o --overwrite":      {Input: []string{"a", "b"}, Output: "o", Overwrite: true},
		"--overwrite --output hdfs://nn:8020/o --input a": {Input: []string{"a"}, Output: "hdfs://nn:8020/o", Overwrite: true},
		"--input a=b": {Input: []string{"a=b"}},
	} {
		got, err := parse(strings.Fields(line))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, arguments (-want +got):\n%s", line, err, diff)
		}
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                   "--input is missing",
		"--output o":                         "--input is missing",
		"--input":                            "--input is missing",
		"--input=":                           "--input is empty",
		"a":                                  `"a" comes before any flag`,
		"--inptu a":                          "unknown flag --inptu",
		"--input a -x":                       "unknown flag -x",
		"--input a --output":                 "--output needs a directory",
		"--input a --output o p":             `--output is given twice: "o" and "p"`,
		"--input a --overwrite":              "--overwrite needs an --output",
		"--input a --overwrite=yes":          `--overwrite takes no value, got "yes"`,
		"--input a --output o --overwrite x": `--overwrite takes no value, got "x"`,
	} {
		_, err := parse(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--help") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line that says %q", line, err, want)
		}
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"--help", "-h", "--input a --help"} {
		if _, err := parse(strings.Fields(line)); !errors.Is(err, errHelp) {
			t.Errorf("%q: error %v, want errHelp", line, err)
		}
	}
}
