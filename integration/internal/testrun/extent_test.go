package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test would catch a test that neither `make test` nor `make test-thorough` runs whole.
func TestShortAndRestAreEverything(t *testing.T) {
	all := listed(t)
	list := append(unit(all), integration(all, false)...)
	has := func(part []suite, name, path string) (s suite, p pkg) {
		for _, s := range part {
			for _, p := range s.packages {
				if s.name == name && p.path == path {
					return s, p
				}
			}
		}
		return suite{}, pkg{}
	}
	shortRun, restRun := short.of(list), rest.of(list)
	for _, s := range list {
		for _, p := range s.packages {
			inShort, _ := has(shortRun, s.name, p.path)
			inRest, left := has(restRun, s.name, p.path)
			switch {
			case s.thorough:
				if inShort.name != "" || left.path == "" || left.only != nil {
					t.Errorf("the suite %s is thorough: want all tests of %s in the rest alone", s.name, p.path)
				}
			case !slices.Contains(inShort.flags, "-test.short") || slices.Contains(inRest.flags, "-test.short"):
				t.Errorf("%s of %s: want it in the short run in short mode, and not in short mode in the rest", p.path, s.name)
			case !slices.Contains(s.flags, "-test.run") && !slices.Equal(left.only, p.shortened):
				t.Errorf("%s: the rest runs %v, want %v", p.path, left.only, p.shortened)
			}
		}
	}
}

// The test would catch a test that does less in a short run, and that the rest does not run.
func TestWhatAShortRunShortens(t *testing.T) {
	const code = `package a

func TestAll(t *testing.T) { clusters.Use(t, clusters.Open) }
func TestSkipped(t *testing.T) { if testing.Short() { t.Skip("slow") } }
func TestDrawn(t *testing.T) { t.Run("x", func(t *testing.T) { rapid.Check(t, nil) }) }
func TestThroughAHelper(t *testing.T) { helped(t) }
func TestThroughAMethod(t *testing.T) { new(rig).check(t) }
func TestBreaksADaemon(t *testing.T) { clusters.Change(t, suite.Kind(clusters.Victim), "kills it") }
func TestHasFeatures(t *testing.T) { clusters.Use(t, clusters.Features) }
func TestIsSecure(t *testing.T) { clusters.Use(t, clusters.Secure) }
func helped(t *testing.T) { rest(t) }
func rest(t *testing.T) { if testing.Short() { return } }
func (*rig) check(t *testing.T) { rapid.Check(t, nil) }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := shortened(dir)
	want := []string{"TestBreaksADaemon", "TestDrawn", "TestHasFeatures", "TestSkipped", "TestThroughAHelper", "TestThroughAMethod"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("shortened are %v, %v; want %v", got, err, want)
	}
	p := pkg{only: got[:2]}
	if flags := strings.Join(p.filter(), " "); flags != "-test.run ^(TestBreaksADaemon|TestDrawn)$" {
		t.Errorf("the flags are %s", flags)
	}
	if flags := (pkg{}).filter(); flags != nil {
		t.Errorf("all tests: the flags are %v", flags)
	}
}
