package operator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrNoCachedFile says that a job has no cached file of a name.
var ErrNoCachedFile = errors.New("job has no cached file of this name")

// CachedFiles are the paths of a job's cached files on this machine, by name.
type CachedFiles map[string]string

// Path returns the path of a file. If there is none of this name, the error is ErrNoCachedFile and
// permanent, and lists the names.
func (c CachedFiles) Path(name string) (string, error) {
	if path, has := c[name]; has {
		return path, nil
	}
	others := "it has none"
	if len(c) > 0 {
		others = "it has " + strings.Join(slices.Sorted(maps.Keys(c)), ", ")
	}
	return "", Permanent(fmt.Errorf("%w: %q: %s; set pipeline.cached-files", ErrNoCachedFile, name, others))
}
