// Command reference writes the page of all options to the file in its argument. go generate runs
// it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one file to write")
	}
	return os.WriteFile(args[0], []byte(config.Reference()), 0o644)
}
