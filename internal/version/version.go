// Package version names this build.
package version

import "runtime/debug"

// release is set when a release is built: -ldflags "-X …/internal/version.release=1.2.3".
var release string //nolint:gochecknoglobals // -X reaches package variables only

// Text is the release, else the module version that go install recorded, else
// "development".
func Text() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// Revision is the commit of the build, or "" where it was not recorded.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
