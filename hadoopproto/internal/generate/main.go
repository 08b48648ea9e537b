// Command generate makes the Go code of hadoopproto from the .proto files beside
// it. It needs only Go: protocompile parses the files, and protoc-gen-go, run
// through the module that go.mod pins, writes the code.
//
//	go run ./hadoopproto/internal/generate          # write
//	go run ./hadoopproto/internal/generate -check   # only report outdated files
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	module    = "github.com/bobbin-yarn/bobbin"
	directory = "hadoopproto" // under the module's root
	generator = "google.golang.org/protobuf/cmd/protoc-gen-go"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if the committed code is out of date")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	request, err := compile(ctx, filepath.Join(root, directory, "proto"))
	if err != nil {
		return err
	}
	files, err := generate(ctx, root, request)
	if err != nil {
		return err
	}
	stale, err := compare(root, files)
	if err != nil {
		return err
	}
	if check {
		if len(stale) > 0 {
			return fmt.Errorf("out of date, run go generate ./%s:\n  %s", directory, strings.Join(stale, "\n  "))
		}
		return nil
	}
	return write(root, files, stale)
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the root of module %s: %w", module, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// compile parses every .proto file under dir, with comments, into the message that protoc
// would pass to a plug-in.
func compile(ctx context.Context, dir string) (*pluginpb.CodeGeneratorRequest, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".proto" {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list .proto files: %w", err)
	}
	slices.Sort(names)

	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("compile .proto files: %w", err)
	}
	described := make(map[string]*descriptorpb.FileDescriptorProto, len(compiled))
	for _, file := range compiled {
		described[file.Path()] = protoutil.ProtoFromFileDescriptor(file)
	}
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate: names,
		Parameter:      proto.String("module=" + module),
		ProtoFile:      importsFirst(names, described),
	}, nil
}

// importsFirst orders files as plug-ins need them: each after its imports.
func importsFirst(names []string, described map[string]*descriptorpb.FileDescriptorProto) []*descriptorpb.FileDescriptorProto {
	var ordered []*descriptorpb.FileDescriptorProto
	placed := make(map[string]bool, len(names))
	var place func(name string)
	place = func(name string) {
		if placed[name] {
			return
		}
		placed[name] = true
		for _, imported := range described[name].GetDependency() {
			place(imported)
		}
		ordered = append(ordered, described[name])
	}
	for _, name := range names {
		place(name)
	}
	return ordered
}

// generate returns the contents of the Go files by their path under the module's root.
func generate(ctx context.Context, root string, request *pluginpb.CodeGeneratorRequest) (map[string][]byte, error) {
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request to %s: %w", generator, err)
	}
	plugin := exec.CommandContext(ctx, "go", "run", generator)
	plugin.Dir = root
	plugin.Stdin = bytes.NewReader(in)
	out, err := plugin.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", generator, withStderr(err))
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("decode answer of %s: %w", generator, err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s: %s", generator, response.GetError())
	}
	files := make(map[string][]byte, len(response.File))
	for _, file := range response.File {
		files[filepath.FromSlash(file.GetName())] = []byte(file.GetContent())
	}
	return files, nil
}

// compare returns the files that differ from the tree: changed ones, missing ones, and
// generated files without a .proto file.
func compare(root string, files map[string][]byte) ([]string, error) {
	var stale []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read generated file: %w", err)
		}
		if err != nil || !bytes.Equal(got, want) {
			stale = append(stale, name)
		}
	}
	present, err := filepath.Glob(filepath.Join(root, directory, "*", "*.pb.go"))
	if err != nil {
		return nil, fmt.Errorf("list generated files: %w", err)
	}
	for _, path := range present {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, fmt.Errorf("list generated files: %w", err)
		}
		if _, wanted := files[name]; !wanted {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale, nil
}

func write(root string, files map[string][]byte, stale []string) error {
	for _, name := range stale {
		path := filepath.Join(root, name)
		content, wanted := files[name]
		if !wanted {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove generated file: %w", err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make directory of generated file: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	return nil
}

// withStderr adds a command's standard error to its error.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
