package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// javaSources are the programs beside ours, and the project that Maven builds them by.
//
//go:embed asks/Asks.java calls/Calls.java pom.xml.tmpl
var javaSources embed.FS

// compileJava returns the command of a class that is beside a program of ours, without its
// arguments.
func compileJava(ctx context.Context, r *rig, program, class string) ([]string, error) {
	jars, err := artifacts.Fetch(ctx, r.cluster.Version())
	if err != nil {
		return nil, err
	}
	java, err := artifacts.FindJava()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.scratch, class)
	if err := writeProject(dir, jars.Version, program, class); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "compiler:compile")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s with maven: %w\n%s", class, err, out)
	}
	return []string{java, "-cp", jars.Classpath(r.cluster.ConfDir(), filepath.Join(dir, "classes")), class}, nil
}

// writeProject makes the folder in which Maven builds a class.
func writeProject(dir, version, program, class string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := javaSources.ReadFile(program + "/" + class + ".java")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, class+".java"), text, 0o644); err != nil {
		return err
	}
	project, err := template.ParseFS(javaSources, "pom.xml.tmpl")
	if err != nil {
		return err
	}
	pom, err := os.Create(filepath.Join(dir, "pom.xml"))
	if err != nil {
		return err
	}
	if err := project.Execute(pom, struct{ Version string }{version}); err != nil {
		pom.Close() // the first error says more
		return err
	}
	return pom.Close()
}
