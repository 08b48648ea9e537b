package commands

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestWhatTheClusterWouldRefuseIsRefusedFirst would catch an upload before YARN's refusal, a job
// that waits for a container that no node has, and a master that ends because its workers are too
// small. Each check has one case here. client tests the others.
func TestWhatTheClusterWouldRefuseIsRefusedFirst(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	count := func(options ...string) []string {
		return append(bobbintest.Small(options...), suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")
	}
	const remedy = "yarn.application.queue"
	refuseAll(t, u, []refusal{
		{"a queue that does not exist", count("-qu", "nowhere"), []string{`"nowhere" does not exist`, "-qu", remedy}},
		{
			"a queue of somebody else", count("-qu", "small"),
			[]string{"user " + u.Name + " may not submit to root.small", "root.default", "-qu", remedy},
		},
		{"the same by its path", count("-qu", "root.small"), []string{"may not submit to root.small"}},
		{"a queue with children", count("-qu", "root"), []string{"not a leaf queue", "default, ", "small", "-qu"}},
		{"too large a worker", count("-tm", "1000g"), []string{"the TaskExecutor asks for 1024000 MB", "lower it (-tm"}},
		{"too small a worker", count("-tm", "200m", "-s", "4"), []string{"200 MB for 4 slots", "taskmanager.memory.process.size of", "or more", "-tm, -s"}},
		{
			"a staging directory of somebody else", count("-D", "yarn.staging-directory=/user/alice/closed"),
			[]string{"permission denied for user " + u.Name, "/user/alice/closed for user " + u.Name, "yarn.staging-directory"},
		},
	})
}

// TestUserWithoutAHomeIsToldSo would catch an error "permission denied" for a directory that the
// user does not know.
func TestUserWithoutAHomeIsToldSo(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/text", "to be\n")
	u := suite.Stranger(t, alice.Cluster)
	refuseAll(t, u, []refusal{{
		"a job", bobbintest.Small(suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", "/tmp/homeless-out"),
		[]string{"/user/" + u.Name + " for user " + u.Name, "yarn.staging-directory"},
	}})
}

// TestMasterThatCannotStartSaysWhy would catch a page of YARN's text before the master's error, and
// staged files that only a master would have removed.
func TestMasterThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	before := leftOf(t, u)
	// With this limit, Go's runtime ends the process.
	got := u.Run(t, bobbintest.Small("-D", "containerized.master.env.GOMEMLIMIT=much", suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")...)
	application := got.Application(t)
	if want := "bobbin: application has ended: " + application + " is FAILED (FAILED): GOMEMLIMIT=much\n"; got.Code != 1 || !strings.Contains(got.Stderr, want) {
		t.Errorf("want %q, got %s", want, got)
	}
	if !strings.HasSuffix(got.Stderr, "More: bobbin logs "+application+"\n") {
		t.Errorf("it does not say where there is more: %s", got)
	}
	unchanged(t, u, before)
}
