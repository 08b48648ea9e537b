package main

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestNamesDoNothingToTheScreen would catch a list that passes the control characters in an application's name to the
// terminal. An attacker could fake a list with them.
func TestNamesDoNothingToTheScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := write(&out, []records.ApplicationReport{{Name: "a\x1b[2Jb\nc\u202ed\u009be", User: "mallory\r", Queue: "que\u2028ue"}})
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(out.String(), "\n")
	if want := "a�[2Jb�c�d�e"; !strings.Contains(row, want) || !strings.Contains(row, "mallory�") || !strings.Contains(row, "que�ue") || strings.Count(row, "\n") != 1 {
		t.Errorf("the row is %q, want one with %q", row, want)
	}
}
