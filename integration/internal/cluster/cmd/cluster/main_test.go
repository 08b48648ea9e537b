package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOnlyALeadingDirIsTakenFromFsShell would catch a flag of FsShell that is taken for one of ours, or a --dir that is
// passed on to it.
func TestOnlyALeadingDirIsTakenFromFsShell(t *testing.T) {
	for line, want := range map[string]struct {
		dir  string
		rest []string
	}{
		"-ls -R /":            {defaultDir(), []string{"-ls", "-R", "/"}},
		"--dir d -ls /":       {"d", []string{"-ls", "/"}},
		"--dir=d -cat /a":     {"d", []string{"-cat", "/a"}},
		"-put --dir /a":       {defaultDir(), []string{"-put", "--dir", "/a"}},
		"--dir":               {defaultDir(), []string{"--dir"}},
		"--dir d -rm --dir e": {"d", []string{"-rm", "--dir", "e"}},
	} {
		dir, rest := folderArgument(strings.Fields(line))
		if dir != want.dir {
			t.Errorf("%q: folder %q, want %q", line, dir, want.dir)
		}
		if diff := cmp.Diff(want.rest, rest); diff != "" {
			t.Errorf("%q: rest (-want +got):\n%s", line, diff)
		}
	}
}

// TestKerberosAloneMeansAuthentication would catch a --kerberos that takes the next flag for its value.
func TestKerberosAloneMeansAuthentication(t *testing.T) {
	for line, want := range map[string]string{
		"cluster up":                              "cluster up",
		"cluster up --kerberos":                   "cluster up --kerberos authentication",
		"cluster up --kerberos --dir d":           "cluster up --kerberos authentication --dir d",
		"cluster up --kerberos privacy --dir d":   "cluster up --kerberos privacy --dir d",
		"cluster up --dir d --kerberos integrity": "cluster up --dir d --kerberos integrity",
	} {
		if diff := cmp.Diff(strings.Fields(want), withProtection(strings.Fields(line))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}
