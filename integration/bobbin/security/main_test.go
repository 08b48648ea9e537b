// Package security tests whole jobs on clusters like those of companies: with Kerberos, with encryption of all
// connections, and with access lists. It tests the ways to submit a job there, the job's rights and how long they last,
// and every way for others to get in. Package jobs tests the jobs themselves; make test-long runs it on such a cluster
// too (BOBBIN_TEST_SECURE).
package security

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// Users beside Alice, who may impersonate others.
const (
	bob   = "bob"          // an ordinary user
	small = "small"        // the only user of the queue with this name
	carol = clusters.Carol // no other test has applications or tokens of this user
)

var suite = bobbintest.NewSuite(clusters.Secure)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// option is a setting for `bobbin run`.
func option(name string, value any) []string {
	return []string{"-D", fmt.Sprintf("%s=%v", name, value)}
}

// countWords runs the example wordcount as who, with these flags, for owner. It checks that the result is exact, and
// that the application and all files belong to owner.
func countWords(t *testing.T, who, owner *bobbintest.User, flags ...string) {
	t.Helper()
	countWordsTo(t, rpctest.HDFS(t, owner.Cluster), owner.Scratch(t), who, owner, flags...)
}

// countWordsTo is countWords with the output below a directory. files is the API of the directory's file system.
func countWordsTo(t *testing.T, files cluster.HDFS, dir string, who, owner *bobbintest.User, flags ...string) {
	t.Helper()
	text := suite.Generate(t, "-size", "200k", "-files", "2")
	input, output := owner.Scratch(t)+"/text", dir+"/counts"
	owner.Put(t, text, input)
	got := who.Run(t, bobbintest.Small(append(append(flags, "-p", "2", "-s", "2", "-tm", "448m"), suite.Program(t, "wordcount"), "--input", input, "--output", output)...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	if diff := cmp.Diff(bobbintest.CountWords(t, text), owner.Output(t, output)); diff != "" {
		t.Errorf("counts differ (-want +got):\n%.2000s", diff)
	}
	app := owner.WaitEnded(t, got.Application(t))
	if app.User != owner.Name || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("application of %s is %s (%s): %s", app.User, app.State, app.FinalStatus, app.Diagnostics)
	}
	checkOwner(t, files, owner, output)
	owner.CheckGone(t, app.ID)
}

// checkOwner checks that a directory has files and that they belong to the user. files is the API of the directory's
// file system.
func checkOwner(t *testing.T, files cluster.HDFS, owner *bobbintest.User, dir string) {
	t.Helper()
	at, err := url.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	written, err := files.List(t.Context(), at.Path)
	if err != nil || len(written) == 0 {
		t.Errorf("%s holds %v, %v", dir, written, err)
	}
	for _, file := range written {
		if file.Owner != owner.Name {
			t.Errorf("%s is %s's, want %s's", file.Name, file.Owner, owner.Name)
		}
	}
}
