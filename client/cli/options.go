package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// options reads the options of a file and of the command line, which takes precedence. The file is bobbin.yaml
// in BOBBIN_CONF_DIR, or else Flink's file in FLINK_CONF_DIR, or else conf/bobbin.yaml beside the binary's
// folder, which may be missing.
func (c *call) options(layers ...config.Layer) (config.Config, error) {
	file, others, err := c.optionsFile()
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.New(append([]config.Layer{file}, layers...)...)
	if err == nil {
		tellOthers(c.Err, cfg, file, others)
	}
	return cfg, err
}

// optionsWith reads the options of the file, of clusterFlags, and of the flags in list, which take precedence.
func (c *call) optionsWith(list ...optionFlag) (config.Config, error) {
	layers, err := clusterLayers(c.line, list...)
	if err != nil {
		return config.Config{}, err
	}
	return c.options(layers...)
}

// tellOthers prints which of Flink's options have no effect in Bobbin. From level info on it names those that
// are not supported yet, because the user may rely on them. At level debug it also names those that only a JVM
// needs. For a keystore of the site it prints the remedy, because browsers would see another certificate. It also names a
// deprecated option with its successor.
func tellOthers(out io.Writer, cfg config.Config, file config.Layer, others []string) {
	level := cfg.String(config.LoggingLevel)
	var later, never []string
	for _, name := range others {
		if config.Expected(name) {
			later = append(later, name)
		} else {
			never = append(never, name)
		}
	}
	if cfg.IsSet(config.EvenlySpreadOutSlots) && level != "error" {
		fmt.Fprintf(out, "%s: option %s is deprecated: set %s: %s\n",
			cfg.Source(config.EvenlySpreadOutSlots), config.EvenlySpreadOutSlots, config.LoadBalanceMode, config.LoadBalance(cfg))
	}
	if keystore := slices.IndexFunc(others, isKeystore); keystore >= 0 && !cfg.IsSet(config.RESTCertificate) && (level == "info" || level == "debug") {
		fmt.Fprintf(out, "%s: %s is not used: %s\n", file.Source, others[keystore], config.Keystore(others[keystore]))
	}
	if len(later) > 0 && (level == "info" || level == "debug") {
		fmt.Fprintf(out, "%s: not supported yet: %s\n", file.Source, strings.Join(later, ", "))
	}
	if len(never) > 0 && level == "debug" {
		fmt.Fprintf(out, "%s: not used by Bobbin: %s\n", file.Source, strings.Join(never, ", "))
	}
}

// isKeystore reports whether an option of Flink's names the keystore with a certificate for REST.
func isKeystore(name string) bool {
	return name == "security.ssl.rest.keystore" || name == "security.ssl.keystore"
}

// optionsFile reads the file of options. others are names of Flink's options that have no effect in Bobbin.
func (c *call) optionsFile() (file config.Layer, others []string, err error) {
	if dir := c.getenv("BOBBIN_CONF_DIR"); dir != "" {
		file, err = config.ReadFile(filepath.Join(dir, config.FileName))
		return file, nil, namedBy("BOBBIN_CONF_DIR", dir, err)
	}
	if dir := c.getenv("FLINK_CONF_DIR"); dir != "" {
		file, others, err = config.ReadFlink(dir)
		return file, others, namedBy("FLINK_CONF_DIR", dir, err)
	}
	file, err = config.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(c.executable)), "conf", config.FileName))
	if errors.Is(err, os.ErrNotExist) {
		return config.Layer{}, nil, nil
	}
	return file, nil, err
}

// namedBy turns the error of an unreadable file into a fault of the variable: the user has set the variable,
// and has not named the file.
func namedBy(variable, dir string, err error) error {
	if _, unread := errors.AsType[*fs.PathError](err); !unread {
		return err
	}
	return &config.Fault{Source: variable + "=" + dir, What: err.Error(), Remedy: "set it to the directory that holds the options, or unset it"}
}
