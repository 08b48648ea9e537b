// Package hadoopenv reads the Hadoop settings of a user's environment and options: the
// configuration and the properties that override it (Read), and the user's identity (Identify).
// Entry points pass their os.Getenv. The package reads files, calls no server and starts no
// goroutine.
package hadoopenv

import (
	"fmt"
	"os"
	"os/user"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// Environment is the Hadoop configuration and the user.
type Environment struct {
	Conf *hadoopconf.Conf
	User string // on an open cluster: HADOOP_USER_NAME or the login name
}

// Read loads the configuration from the directory in HADOOP_CONF_DIR, or else in YARN_CONF_DIR. If
// neither is set, the error is fs.ErrNotExist. Properties from options override those of the files.
// The user is HADOOP_USER_NAME or the login name.
func Read(getenv func(string) string, options config.Config) (Environment, error) {
	dir, err := hadoopconf.Find(getenv)
	if err != nil {
		return Environment{}, err
	}
	name, err := userName(getenv)
	if err != nil {
		return Environment{}, err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{
		LookupEnv: func(name string) (string, bool) {
			value := getenv(name)
			return value, value != ""
		},
		Properties: map[string]string{"user.name": name, "user.home": getenv("HOME"), "java.io.tmpdir": os.TempDir()},
	})
	if err != nil {
		return Environment{}, err
	}
	return Environment{Conf: conf.With(fromOptions, properties(options)), User: name}, nil
}

// fromOptions is the source of the properties that come from options.
const fromOptions = "options flink.hadoop.* and flink.yarn.*"

// Without returns the Environment if no configuration is named: only the properties from options.
// User is "" if this machine does not know the user's name.
func Without(getenv func(string) string, options config.Config) Environment {
	name, _ := userName(getenv) // the local disk needs no name
	return Environment{Conf: new(hadoopconf.Conf).With(fromOptions, properties(options)), User: name}
}

// properties returns the Hadoop properties from options: flink.hadoop.X sets X, and flink.yarn.X
// sets yarn.X, as in Flink.
func properties(options config.Config) map[string]string {
	given := options.Under(config.HadoopOptions)
	for name, value := range options.Under(config.YarnOptions) {
		given["yarn."+name] = value
	}
	return given
}

// Named reports whether the environment names a configuration.
func Named(getenv func(string) string) bool {
	return getenv("HADOOP_CONF_DIR") != "" || getenv("YARN_CONF_DIR") != ""
}

func userName(getenv func(string) string) (string, error) {
	if name := getenv("HADOOP_USER_NAME"); name != "" {
		return name, nil
	}
	login, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the user's name: %w; set HADOOP_USER_NAME", err)
	}
	return login.Username, nil
}
