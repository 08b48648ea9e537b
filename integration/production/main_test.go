// Package production tests whole jobs on clusters as companies run them: with
// Kerberos, everything encrypted, and access lists. It tests the ways in which a
// job is submitted there, what it may do for how long, and every door that
// somebody who does not belong might come through. Jobs themselves are package
// jobs's, which bobbintest.ProtectionVariable runs on such a cluster, too.
package production

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// Users beside Alice, who may act for others.
const (
	bob   = "bob"   // nobody special
	small = "small" // the only one who may use the queue of that name
)

var suite = bobbintest.NewSuite(cluster.Config{
	Users:    []string{bob, small},
	Kerberos: &cluster.Kerberos{Protection: "privacy"},
})

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// option is a setting for `bobbin run`.
func option(name string, value any) []string {
	return []string{"-D", fmt.Sprintf("%s=%v", name, value)}
}

// countWords runs the example wordcount as who, with these flags, for owner. It
// checks that the result is exact, and that the application and all files are
// owner's.
func countWords(t *testing.T, who, owner *bobbintest.User, flags ...string) {
	t.Helper()
	text := suite.Generate(t, "-size", "200k", "-files", "2")
	dir := owner.Scratch(t)
	owner.Put(t, text, dir+"/text")
	got := who.Run(t, bobbintest.Small(append(append(flags, "-p", "2", "-s", "2", "-tm", "448m"), suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/counts")...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	if diff := cmp.Diff(bobbintest.CountWords(t, text), owner.Output(t, dir+"/counts")); diff != "" {
		t.Errorf("counts differ (-want +got):\n%.2000s", diff)
	}
	app := owner.WaitEnded(t, got.Application(t))
	if app.User != owner.Name || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("application of %s is %s (%s): %s", app.User, app.State, app.FinalStatus, app.Diagnostics)
	}
	files, err := owner.Cluster.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := files.List(t.Context(), dir+"/counts")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if part.Owner != owner.Name {
			t.Errorf("%s is %s's, want %s's", part.Name, part.Owner, owner.Name)
		}
	}
	owner.CheckGone(t, app.ID)
}
