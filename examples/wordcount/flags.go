package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const usage = `Usage: wordcount --input URI... [--output URI [--overwrite]]

Counts the words of text files: runs of ASCII letters, digits and "_", with
in lower case. Writes one line per word: the word, a tab and its count.

  --input URI...   files, directories or globs; may be repeated
  --output URI     directory for the result; without it the counts are printed
  --overwrite      replace an existing output
  --help           show this

A path without a scheme is on the default file system of the Hadoop
configuration. Without a configuration it is on the local disk.
`

// errHelp says that the user asked for the usage.
var errHelp = errors.New("help wanted")

// parse reads the program's arguments. Errors name the mistake and the remedy.
func parse(arguments []string) (Args, error) {
	var args Args
	flag := "" // the flag that takes the next value
	for _, argument := range arguments {
		name, value, hasValue := strings.Cut(argument, "=")
		if !strings.HasPrefix(argument, "-") {
			name, value, hasValue = flag, argument, true
		}
		flag = name
		switch name {
		case "--help", "-h":
			return args, errHelp
		case "--overwrite":
			if hasValue {
				return args, wrong("--overwrite takes no value, got %q", value)
			}
			args.Overwrite = true
		case "--input":
			if hasValue {
				args.Input = append(args.Input, value)
			}
		case "--output":
			if hasValue && args.Output != "" {
				return args, wrong("--output is given twice: %q and %q", args.Output, value)
			}
			if hasValue {
				args.Output = value
			}
		case "":
			return args, wrong("%q comes before any flag", argument)
		default:
			return args, wrong("unknown flag %s", name)
		}
	}
	return args, check(args, arguments)
}

// check returns an error for a missing or empty argument.
func check(args Args, arguments []string) error {
	switch {
	case len(args.Input) == 0:
		return wrong("--input is missing: name the text to read")
	case slices.Contains(args.Input, ""):
		return wrong("--input is empty")
	case args.Output == "" && slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "--output") }):
		return wrong("--output needs a directory")
	case args.Output == "" && args.Overwrite:
		return wrong("--overwrite needs an --output")
	}
	return nil
}

func wrong(format string, values ...any) error {
	return fmt.Errorf(format+" (try --help)", values...)
}
