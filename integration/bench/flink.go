package main

import (
	"archive/zip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// flinkFiles are the configuration of Flink, and the programs that it runs.
//
//go:embed flink/*.java flink/config.yaml.tmpl flink/log4j.properties
var flinkFiles embed.FS

// Classes of Flink's commands.
const (
	flinkCommand = "org.apache.flink.client.cli.CliFrontend"
	flinkSession = "org.apache.flink.yarn.cli.FlinkYarnSessionCli"
)

// flink is Flink as users install it for YARN. Its libraries are on HDFS, and all applications and
// the nodes' caches share them (yarn.provided.lib.dirs). Its commands are the java processes that
// its shell scripts start, so that the time of the scripts does not count.
type flink struct {
	rig       *rig
	home      string // Flink's distribution
	java      string
	javaHome  string
	dir       string // on this machine: its configuration
	libraries string // on HDFS
	jar       string // of the programs
	input     string
	zooKeeper string // its address, for high availability; "": none
	hadoop    string // class path
	options   []string
}

// javaOptions are the options of Flink's own config.yaml that open java 17's internals to Hadoop
// and Flink.
func javaOptions() []string {
	var options []string
	for _, name := range []string{"java.rmi/sun.rmi.registry", "java.security.jgss/sun.security.krb5", "java.base/sun.net.util"} {
		options = append(options, "--add-exports="+name+"=ALL-UNNAMED")
	}
	for _, name := range []string{
		"java.lang", "java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text", "java.time",
		"java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks",
	} {
		options = append(options, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	return options
}

// tunedOptions make a java process start fastest.
func tunedOptions() []string {
	return append(javaOptions(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
}

// installFlink uploads the libraries to HDFS, compiles the program, and configures Flink twice:
// with its defaults, and tuned. Tuned, java starts fastest, and Flink asks YARN for containers as
// often as Bobbin does.
func installFlink(ctx context.Context, r *rig, input, zooKeeper string) (plain, tuned *flink, err error) {
	java, err := artifacts.FindJava()
	if err != nil {
		return nil, nil, err
	}
	hadoop, err := artifacts.Fetch(ctx, r.cluster.Version())
	if err != nil {
		return nil, nil, err
	}
	f := flink{rig: r, home: r.flink, java: java, input: input, zooKeeper: zooKeeper, hadoop: hadoop.Classpath(r.cluster.ConfDir())}
	if f.jar, err = f.compile(ctx); err != nil {
		return nil, nil, fmt.Errorf("compile flink's programs: %w", err)
	}
	if f.libraries, err = f.provide(ctx); err != nil {
		return nil, nil, fmt.Errorf("put flink's libraries on hdfs: %w", err)
	}
	fast := f
	if err := errors.Join(f.configure(hadoop, javaOptions(), false), fast.configure(hadoop, tunedOptions(), true)); err != nil {
		return nil, nil, fmt.Errorf("configure flink: %w", err)
	}
	return &f, &fast, nil
}

// configure makes a folder of configuration.
func (f *flink) configure(hadoop artifacts.Jars, javaOptions []string, tuned bool) (err error) {
	f.options = javaOptions
	if f.dir, err = os.MkdirTemp(f.rig.scratch, "flink-"); err != nil {
		return err
	}
	program, err := filepath.EvalSymlinks(f.java)
	if err != nil {
		return err
	}
	f.javaHome = filepath.Dir(filepath.Dir(program))
	logging, err := flinkFiles.ReadFile("flink/log4j.properties")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.dir, "log4j.properties"), logging, 0o644); err != nil {
		return err
	}
	options, err := template.ParseFS(flinkFiles, "flink/config.yaml.tmpl")
	if err != nil {
		return err
	}
	var text strings.Builder
	err = options.Execute(&text, struct {
		JavaOptions, JavaHome, HadoopClasspath, Dir, ZooKeeper string
		Tuned                                                  bool
	}{
		strings.Join(f.options, " "), f.javaHome, f.rig.cluster.ConfDir() + "," + hadoop.Dir + "/*", f.dir, f.zooKeeper, tuned,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.dir, "config.yaml"), []byte(text.String()), 0o644)
}

// compile builds the programs' jar.
func (f *flink) compile(ctx context.Context) (jar string, err error) {
	javac, err := artifacts.FindJavac()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(f.rig.scratch, "flink-program-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, flinkFiles); err != nil {
		return "", err
	}
	sources, err := filepath.Glob(filepath.Join(dir, "flink", "*.java"))
	if err != nil {
		return "", err
	}
	classes := filepath.Join(dir, "classes")
	build := exec.CommandContext(ctx, javac, append([]string{"-classpath", filepath.Join(f.home, "lib", "*"), "-d", classes}, sources...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	jar = filepath.Join(dir, "programs.jar")
	file, err := os.Create(jar)
	if err != nil {
		return "", err
	}
	content := zip.NewWriter(file)
	return jar, errors.Join(content.AddFS(os.DirFS(classes)), content.Close(), file.Close())
}

// provide uploads the libraries to HDFS, unless another section has done so.
func (f *flink) provide(ctx context.Context) (dir string, err error) {
	home, err := f.rig.client.Files.Home()
	if err != nil {
		return "", err
	}
	dir = home + "/flink"
	jars, err := filepath.Glob(filepath.Join(f.home, "lib", "*.jar"))
	if err != nil {
		return "", err
	}
	if len(jars) == 0 {
		return "", fmt.Errorf("%s holds no jars: %w", filepath.Join(f.home, "lib"), fs.ErrNotExist)
	}
	create := dfs.CreateOptions{Parents: filesystem.MakeParents, Mode: 0o644}
	for _, jar := range jars {
		_, err := f.rig.client.Files.Upload(ctx, jar, dir+"/"+filepath.Base(jar), dfs.UploadOptions{CreateOptions: create})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}

// version returns the versions of Flink and of its java.
func (f *flink) version() (string, error) {
	const prefix, suffix = "flink-dist-", ".jar"
	dist, err := filepath.Glob(filepath.Join(f.home, "lib", prefix+"*"+suffix))
	if err != nil || len(dist) != 1 {
		return "", errors.Join(err, fmt.Errorf("%s holds %d %s*%s, want 1", f.home, len(dist), prefix, suffix))
	}
	release, err := os.ReadFile(filepath.Join(f.javaHome, "release"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(release)) {
		if java, found := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); found {
			return fmt.Sprintf("%s, on java %s", strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dist[0]), prefix), suffix), strings.Trim(java, `"`)), nil
		}
	}
	return "", fmt.Errorf("%s/release does not tell java's version", f.javaHome)
}

func (f *flink) environment() []string {
	return append(f.rig.environment(), "FLINK_CONF_DIR="+f.dir, "FLINK_LIB_DIR="+filepath.Join(f.home, "lib"), "FLINK_PLUGINS_DIR="+filepath.Join(f.home, "plugins"))
}

func (f *flink) perJob() []string { return f.run("run", "-t", "yarn-per-job", f.provided()) }

// uploading returns a Flink without the folder of provided libraries, so that each application
// uploads them.
func (f *flink) uploading() []string { return f.run("run", "-t", "yarn-per-job") }

func (f *flink) forget(context.Context) error { return nil }

func (f *flink) application() []string {
	return f.run("run-application", "-t", "yarn-application", f.provided())
}

func (f *flink) session() []string { return f.command(flinkSession, "-d", f.provided()) }

func (f *flink) job(session string) []string {
	return f.run("run", "-t", "yarn-session", "-Dyarn.application.id="+session)
}

func (f *flink) list(session string) []string {
	return f.command(flinkCommand, "list", "-t", "yarn-session", "-Dyarn.application.id="+session)
}

func (f *flink) provided() string { return "-Dyarn.provided.lib.dirs=" + f.libraries }

// run returns a command that runs the program.
func (f *flink) run(words ...string) []string {
	return f.command(flinkCommand, append(words, "-c", "WordCount", f.jar, f.input, f.input+"-counts-of-flink")...)
}

func (f *flink) command(class string, words ...string) []string {
	command := append([]string{f.java}, f.options...)
	command = append(command, "-Dlog.file="+filepath.Join(f.dir, "client.log"), "-Dlog4j.configurationFile=file:"+filepath.Join(f.dir, "log4j.properties"),
		"-classpath", filepath.Join(f.home, "lib", "*")+string(filepath.ListSeparator)+f.hadoop, class)
	return append(command, words...)
}
