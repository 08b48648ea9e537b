// Command reference writes a generated page of the documentation: all options or all metrics. Its
// arguments are the name of the page and the file. go generate runs it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("want a page and the file to write")
	}
	pages := map[string]func() string{"options": config.Reference, "metrics": metrics.Reference}
	page, is := pages[args[0]]
	if !is {
		return fmt.Errorf("there is no page %q", args[0])
	}
	return os.WriteFile(args[1], []byte(page()), 0o644)
}
