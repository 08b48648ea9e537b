package client

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// StorageDir is the URI of the directory in which each application has its directory of package ha:
// high-availability.storageDir. "" is the default: that directory is the one with the application's staged files.
func StorageDir(files homeFiles, configured string) (string, error) {
	if configured == "" {
		return "", nil
	}
	dir, err := files.Qualify(configured)
	if err != nil {
		return "", fmt.Errorf("%s: %w", config.HighAvailabilityStorageDir, err)
	}
	return strings.TrimSuffix(dir, "/"), nil
}
