package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// defaultCacheName is the cache of MIT's library without any configuration.
const defaultCacheName = "FILE:/tmp/krb5cc_%{uid}"

// CacheTypeError says that a credential cache has a type that only the C library can
// read.
type CacheTypeError struct {
	Type   string // such as "KCM"
	Name   string // the whole name
	Source string // the setting: "KRB5CCNAME" or "default_ccache_name"
	uid    int    // of the process, for the remedy
}

// Error names the remedy.
func (e *CacheTypeError) Error() string {
	return fmt.Sprintf("credential cache %s (%s): caches of type %s cannot be read, only files:"+
		" set KRB5CCNAME=FILE:/tmp/krb5cc_%d and run kinit again, or log in with a keytab", e.Name, e.Source, e.Type, e.uid)
}

// FindCache returns the path of the credential cache file: from KRB5CCNAME, or else
// from default_ccache_name of the krb5.conf (c may be nil), or else /tmp/krb5cc_UID.
// It accepts FILE:path, a path without a type, DIR::path, and DIR:directory, where
// the file "primary" names the cache. In default_ccache_name it also accepts %{uid},
// %{euid}, %{username}, %{TEMP} and %{null}. For other types (KCM, KEYRING, MEMORY,
// API) the error is a *CacheTypeError. FindCache does not check that a FILE exists;
// ReadCache does.
func FindCache(getenv func(string) string, c *Config) (string, error) {
	cache, source := getenv("KRB5CCNAME"), "KRB5CCNAME"
	if cache == "" {
		cache, source = defaultCacheName, "default"
		if c != nil && c.CacheName != "" {
			cache, source = c.CacheName, "default_ccache_name"
		}
		var err error
		if cache, err = expandTokens(cache); err != nil {
			return "", fmt.Errorf("find credential cache: %s: %w", source, err)
		}
	}
	kind, rest, ok := strings.Cut(cache, ":")
	switch {
	case !ok, strings.HasPrefix(cache, "/"), strings.HasPrefix(cache, "."):
		return cache, nil
	case kind == "FILE" || kind == "WRFILE":
		return rest, nil
	case kind == "DIR":
		path, err := primaryCache(rest)
		if err != nil {
			return "", fmt.Errorf("find credential cache %s (%s): %w", cache, source, err)
		}
		return path, nil
	default:
		return "", fmt.Errorf("find credential cache: %w", &CacheTypeError{Type: kind, Name: cache, Source: source, uid: os.Getuid()})
	}
}

// primaryCache returns the file of a DIR cache (MIT's cc_dir.c). ":path" is the file
// itself. Otherwise the file "primary" in the directory holds the name, which begins with
// "tkt". Without that file the name is "tkt".
func primaryCache(directory string) (string, error) {
	if path, ok := strings.CutPrefix(directory, ":"); ok {
		return path, nil
	}
	const longestName = 255
	data, err := readFile(filepath.Join(directory, "primary"), longestName+1)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("tkt"), nil
	}
	if err != nil {
		return "", fmt.Errorf("read primary: %w", err)
	}
	name := strings.TrimSuffix(string(data), "\n")
	if !strings.HasPrefix(name, "tkt") || strings.ContainsAny(name, "/\n\x00") {
		return "", fmt.Errorf("primary is %q, not the name of a file tkt…: run kinit or kswitch", name)
	}
	return filepath.Join(directory, name), nil
}

// expandTokens replaces %{…} in file names as MIT's library does (krb5.conf(5), parameter
// expansion).
func expandTokens(text string) (string, error) {
	var expanded strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "%{")
		expanded.WriteString(before)
		if !ok {
			return expanded.String(), nil
		}
		token, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("%q has no closing }", "%{"+rest)
		}
		value, err := tokenValue(token)
		if err != nil {
			return "", err
		}
		expanded.WriteString(value)
		text = after
	}
}

func tokenValue(token string) (string, error) {
	switch token {
	case "uid", "USERID":
		return strconv.Itoa(os.Getuid()), nil
	case "euid":
		return strconv.Itoa(os.Geteuid()), nil
	case "username":
		u, err := user.Current()
		if err != nil {
			return "", fmt.Errorf("%%{username}: %w", err)
		}
		return u.Username, nil
	case "TEMP":
		return os.TempDir(), nil
	case "null":
		return "", nil
	default:
		return "", fmt.Errorf("%%{%s} is not supported: write the path instead", token)
	}
}
