// Package artifacts downloads the jars of a Hadoop release from Maven, once for each version, into the user's cache
// directory. It also makes two things that daemons need: classes that replace native code (Patched), and an archive of
// all classes (MakeArchive).
//
// It owns the folders <user cache>/bobbin/hadoop-<version>, and the files and folders beside them whose names begin with that name.
// Several processes may fetch at once: a lock file lets one of them work while the others wait, and a folder or file
// gets its final name only when it is complete. The package starts no goroutines. Of Bobbin it must import only package
// filelock.
package artifacts

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/bobbin-yarn/bobbin/integration/internal/filelock"
)

// DefaultVersion is the Hadoop release against which tests run by default.
const DefaultVersion = "3.4.3"

// Releases returns the Hadoop releases against which the client is tested, oldest first.
func Releases() []string { return []string{"3.3.6", DefaultVersion, "3.5.0"} }

// ErrMissingTool says that a program is not installed. The errors of FindJava and Fetch wrap it, and their text names
// the command that installs it.
var ErrMissingTool = errors.New("missing tool")

// Jars is the folder with the jars of one Hadoop release.
type Jars struct {
	Version string // such as "3.4.3"
	Dir     string // absolute; contains only jars
	Patch   string // a jar that Patched makes, with classes that precede Hadoop's; "": none
}

// Classpath returns a value for java's -classpath: the patch, all jars sorted by name, and then further entries, such
// as folders with configuration files. No jar contains such files.
func (j Jars) Classpath(after ...string) string {
	jars, _ := filepath.Glob(filepath.Join(j.Dir, "*.jar")) // sorted; the pattern is valid
	if j.Patch != "" {
		jars = append([]string{j.Patch}, jars...)
	}
	return strings.Join(append(jars, after...), string(filepath.ListSeparator))
}

// hadoopArtifacts are the direct dependencies, which daemons and commands need. The timeline service is one of them
// because the ResourceManager does not start without its classes.
var hadoopArtifacts = [...]string{
	"hadoop-common",
	"hadoop-hdfs",
	"hadoop-hdfs-client",
	"hadoop-yarn-server-resourcemanager",
	"hadoop-yarn-server-nodemanager",
	"hadoop-yarn-server-timelineservice",
	"hadoop-yarn-server-web-proxy",
	"hadoop-yarn-client",
	"hadoop-mapreduce-client-jobclient",
	"hadoop-mapreduce-client-shuffle",
	"hadoop-mapreduce-client-app",
}

//go:embed pom.xml.tmpl
var pomTemplate string

var versionPattern = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+[0-9A-Za-z.-]*$`)

// Fetch returns the jars of a Hadoop release. If this machine does not have them yet, it runs Maven. An empty version
// means DefaultVersion. The first call takes about a minute, later calls take no time.
func Fetch(ctx context.Context, version string) (Jars, error) {
	if version == "" {
		version = DefaultVersion
	}
	if !versionPattern.MatchString(version) {
		return Jars{}, fmt.Errorf("hadoop version %q: want a version such as %s", version, DefaultVersion)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Jars{}, fmt.Errorf("find the cache directory for hadoop's jars: %w", err)
	}
	jars := Jars{Version: version, Dir: filepath.Join(cache, "bobbin", "hadoop-"+version)}
	pom, err := renderPOM(version)
	if err != nil {
		return Jars{}, err
	}
	return jars, jars.fetch(ctx, jars.Dir, pom, "dependency:copy-dependencies", "-DincludeScope=runtime")
}

// JobHistory returns the path of a jar with the release's JobHistoryServer. If this machine does not have it yet, JobHistory runs
// Maven. The jar is apart from the others: no daemon of a cluster needs it.
func (j Jars) JobHistory(ctx context.Context) (string, error) {
	const artifact = "hadoop-mapreduce-client-hs"
	dir := j.Dir + "-jobhistory"
	err := j.fetch(ctx, dir, nil, "dependency:copy", "-Dartifact=org.apache.hadoop:"+artifact+":"+j.Version)
	return filepath.Join(dir, artifact+"-"+j.Version+".jar"), err
}

// fetch makes Maven fill a folder with jars, unless the folder exists. pom is the project for Maven's goal; nil: the goal needs none.
func (j Jars) fetch(ctx context.Context, dir string, pom []byte, goal ...string) error {
	if present(dir) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the cache directory for hadoop's jars: %w", err)
	}
	unlock, err := filelock.Exclusive(ctx, j.Dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if present(dir) { // another process was faster
		return nil
	}
	if err := download(ctx, dir, pom, goal); err != nil {
		return fmt.Errorf("fetch hadoop %s with maven: %w", j.Version, err)
	}
	return nil
}

// FindJavac returns the path of the java compiler.
func FindJavac() (string, error) { return find("javac", "default-jdk-headless") }

// FindJava returns the path of the java program.
func FindJava() (string, error) {
	return find("java", "default-jdk-headless")
}

func find(tool, debianPackage string) (string, error) {
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not on the PATH; install it with: apt-get install -y --no-install-recommends %s", ErrMissingTool, tool, debianPackage)
	}
	return path, nil
}

func present(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// download makes Maven copy jars into a temporary folder beside the final one, and then renames the folder.
func download(ctx context.Context, dir string, pom []byte, goal []string) error {
	if _, err := FindJava(); err != nil {
		return err
	}
	mvn, err := find("mvn", "maven")
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if pom != nil {
		if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644); err != nil {
			return err
		}
	}
	done := filepath.Join(tmp, "jars")
	cmd := exec.CommandContext(ctx, mvn, append([]string{"--batch-mode", "--quiet", "-DoutputDirectory=" + done}, goal...)...)
	cmd.Dir = tmp
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(out, 2000))
	}
	if !present(done) {
		return fmt.Errorf("maven succeeded but copied no jar\n%s", tail(out, 2000))
	}
	return os.Rename(done, dir)
}

func renderPOM(version string) ([]byte, error) {
	t, err := template.New("pom.xml").Parse(pomTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Version   string
		Artifacts []string
	}{version, hadoopArtifacts[:]})
	return b.Bytes(), err
}

// tail returns the last n bytes of a program's output, where Maven explains errors.
func tail(out []byte, n int) []byte {
	return out[max(0, len(out)-n):]
}
