package config

import (
	"errors"
	"strings"
	"testing"
)

// TestNamesAreBounded would catch a file that takes gigabytes of memory: a thousand nested mappings
// make a long name, and each value in them has it.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{a: ", 1000) + "{b: 1, c: 2}" + strings.Repeat("}", 1000)
	if _, err := parseFile("conf.yaml", []byte("slot: 1\nx: "+deep)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "conf.yaml:2: a name has more than 256 bytes") {
		t.Errorf("got error %v", err)
	}
}
