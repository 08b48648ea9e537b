// Package sessionfile is the file in which `session start` writes down its session, so that later commands find
// it. It is Flink's YARN properties file, in the same format (java.util.Properties) under another name: Flink
// on the same machine must not use our sessions.
//
// The package starts no goroutines.
package sessionfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// errInvalid says that a file is not a session file. The remedy is to delete the file, which the text names.
var errInvalid = errors.New("not a session file")

// ErrForeign is an errInvalid: the file belongs to another user, who must remove it.
var ErrForeign = fmt.Errorf("%w of this user", errInvalid)

// ErrElsewhere says that a file's session is on another cluster, or of another Hadoop user.
var ErrElsewhere = errors.New("session belongs to another cluster or user")

// Keys of the file. The first two are Flink's (FlinkYarnSessionCli).
const (
	keyApplication      = "applicationID"
	keyOptions          = "dynamicPropertiesString"
	keyResourceManagers = "resourceManagers"
	keyUser             = "hadoopUser"
	separator           = "@@" // between options
)

// maxFile bounds the size of a file, in bytes.
const maxFile = 1 << 20

// Session is the content of a file.
type Session struct {
	Application records.ApplicationID
	Options     map[string]string // of the command line that started the session
	Owner       Owner
}

// Owner is the cluster and user of a session: another cluster may have an application with the same id.
type Owner struct {
	ResourceManagers string // addresses, separated by commas; "": the file does not tell
	User             string // Hadoop's; "": the file does not tell
}

// Of checks that a session belongs to this cluster and user. Its error is ErrElsewhere.
func (s Session) Of(o Owner) error {
	if s.Owner.ResourceManagers != "" && s.Owner.ResourceManagers != o.ResourceManagers {
		return fmt.Errorf("%w: %s is on ResourceManager %s, but HADOOP_CONF_DIR names %s", ErrElsewhere, s.Application, s.Owner.ResourceManagers, o.ResourceManagers)
	}
	if s.Owner.User != "" && s.Owner.User != o.User {
		return fmt.Errorf("%w: %s belongs to user %s, but this command runs as user %s", ErrElsewhere, s.Application, s.Owner.User, o.User)
	}
	return nil
}

// Path is the path of a user's file in a directory.
func Path(directory, user string) string {
	return filepath.Join(directory, ".bobbin-yarn-properties-"+user)
}

// Read reads a file. Errors are fs.ErrNotExist and errInvalid. Everyone who can write to the directory can put
// a file there, and so send jobs to another session. So Read accepts only files of this process's user and of
// root; others are errInvalid.
func Read(path string) (Session, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return Session{}, invalid(path, "it is a symbolic link")
	}
	if err != nil {
		return Session{}, fmt.Errorf("read session file: %w", err)
	}
	defer file.Close() // read only: nothing to lose
	info, err := file.Stat()
	if err != nil {
		return Session{}, fmt.Errorf("read session file: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return Session{}, invalid(path, "it is no regular file")
	case ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return Session{}, fmt.Errorf("%w: %s: it belongs to another user (uid %d); ask that user to remove it, name another directory (%s), or name the application with -id",
			ErrForeign, path, stat.Uid, config.YarnPropertiesFileLocation)
	case info.Size() > maxFile:
		return Session{}, invalid(path, "it is too large")
	}
	text := make([]byte, info.Size())
	n, err := file.ReadAt(text, 0)
	if n < len(text) {
		return Session{}, fmt.Errorf("read session file: %w", err)
	}
	s, err := parse(string(text))
	if err != nil {
		return Session{}, invalid(path, err.Error())
	}
	return s, nil
}

func invalid(path, why string) error {
	return fmt.Errorf("%w: %s: %s; delete it, or name the application with -id", errInvalid, path, why)
}

func parse(text string) (Session, error) {
	values := parseProperties(text)
	id, err := records.ParseApplicationID(values[keyApplication])
	if err != nil {
		return Session{}, fmt.Errorf("%s is %q, which is no application id", keyApplication, values[keyApplication])
	}
	s := Session{
		Application: id, Options: make(map[string]string),
		Owner: Owner{ResourceManagers: values[keyResourceManagers], User: values[keyUser]},
	}
	for definition := range strings.SplitSeq(values[keyOptions], separator) {
		if definition == "" {
			continue
		}
		name, value, err := config.ParseDefinition(definition)
		if err != nil {
			return Session{}, fmt.Errorf("%s: %w", keyOptions, err)
		}
		s.Options[name] = value
	}
	return s, nil
}

// Check checks that a file can hold options: they contain no "@@", and are UTF-8.
func Check(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !utf8.ValidString(name + options[name]) {
			return fmt.Errorf("option %s holds bytes that are no UTF-8: give it in UTF-8", name)
		}
		if strings.Contains(name+"="+options[name]+"=", separator) || strings.HasPrefix(options[name], "@") || strings.HasSuffix(options[name], "@") {
			return fmt.Errorf("option %s holds %q, which the session file cannot hold: set it in conf/%s", name, separator, config.FileName)
		}
	}
	return nil
}

// Write writes a file, in place of an earlier one. Only its user can read it, because an option can be a
// secret.
func Write(path string, s Session) (err error) {
	if err := Check(s.Options); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("write session file: %w", err)
	}
	_, err = temporary.WriteString(format(s))
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write session file: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

func format(s Session) string {
	definitions := make([]string, 0, len(s.Options))
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		definitions = append(definitions, name+"="+s.Options[name])
	}
	lines := []string{"# The Bobbin session for commands that name no application.\n", property(keyApplication, s.Application.String())}
	for _, fact := range [][2]string{{keyResourceManagers, s.Owner.ResourceManagers}, {keyUser, s.Owner.User}} {
		if fact[1] != "" {
			lines = append(lines, property(fact[0], fact[1]))
		}
	}
	return strings.Join(append(lines, property(keyOptions, strings.Join(definitions, separator))), "")
}

// Remove removes a file that names this ended session. It leaves a file of another session, and one that is not
// a session file.
func Remove(path string, application records.ApplicationID) error {
	s, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errInvalid) || err == nil && s.Application != application {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
