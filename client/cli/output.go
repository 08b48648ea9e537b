package cli

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORMAT` of the output: text (default) or json"}
}

// asksForJSON tells whether a command line asks for JSON, even if the command line is wrong. args are its
// words. arranged are the words that arrange made of them; nil if arrange failed.
func asksForJSON(args, arranged []string) bool {
	if arranged != nil {
		end := slices.Index(arranged, "--") // the words after it belong to a program
		args = arranged[:max(0, end)]
	}
	for i, word := range args {
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "-") || name != "o" && name != "output" {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if value == "json" {
			return true
		}
	}
	return false
}

// jsonOutput is the standard output of a command that answers in JSON.
type jsonOutput struct {
	io.Writer
	anything bool
}

func (o *jsonOutput) Write(p []byte) (int, error) {
	o.anything = true
	return o.Writer.Write(p)
}

// failure prints an error as JSON if the command has printed nothing.
func (o *jsonOutput) failure(err error) error {
	if err == nil || o.anything {
		return err
	}
	return errors.Join(err, json.NewEncoder(o).Encode(map[string]string{"error": err.Error()}))
}
