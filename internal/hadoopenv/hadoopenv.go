// Package hadoopenv reads what a user's environment and options say about the
// Hadoop cluster: where its configuration is and what goes before it (Read), and
// who the user is there (Identify). Entry points call it with their os.Getenv; it
// reads files, asks no server and starts nothing.
package hadoopenv

import (
	"fmt"
	"os"
	"os/user"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// Environment is what was found.
type Environment struct {
	Conf *hadoopconf.Conf
	User string // who acts on an open cluster: HADOOP_USER_NAME or the login name
}

// Read loads the configuration that HADOOP_CONF_DIR, else YARN_CONF_DIR, names;
// fs.ErrNotExist where neither does. The properties that options give go before
// those of the files. The user is HADOOP_USER_NAME or the login name.
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

// fromOptions is where those properties are from that no file gives.
const fromOptions = "options flink.hadoop.* and flink.yarn.*"

// Without is what there is where the environment names no configuration: the properties that
// options give. User is empty where this machine does not know who the user is.
func Without(getenv func(string) string, options config.Config) Environment {
	name, _ := userName(getenv) // who uses the local disk alone needs none
	return Environment{Conf: new(hadoopconf.Conf).With(fromOptions, properties(options)), User: name}
}

// properties are Hadoop's that options give: flink.hadoop.X is X, and flink.yarn.X
// is yarn.X, as in Flink.
func properties(options config.Config) map[string]string {
	given := options.Under(config.HadoopOptions)
	for name, value := range options.Under(config.YarnOptions) {
		given["yarn."+name] = value
	}
	return given
}

// Named tells whether the environment names a configuration at all.
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
