// Package version describes this build.
package version

import "runtime/debug"

// release is set when a release is built: -ldflags "-X …/internal/version.release=1.2.3".
var release string //nolint:gochecknoglobals // -X reaches package variables only

// Text returns the release, or else the module version that go install recorded, or else
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

// Revision returns the commit of the build, or "" if it was not recorded.
func Revision() string { return BuildOf().Commit }

// Build is the go command's record of a build in a repository. The zero Build means that it
// recorded nothing.
type Build struct {
	Commit   string // in full
	Date     string // of the commit, RFC 3339
	Modified bool   // files differed from the commit
}

// BuildOf returns the Build of this process's program.
func BuildOf() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{}
	}
	return buildOf(info.Settings)
}

func buildOf(settings []debug.BuildSetting) (b Build) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// shortCommit is the length of a commit id for users.
const shortCommit = 12

// String describes the build for users.
func (b Build) String() string {
	if b.Commit == "" {
		return "no commit recorded"
	}
	text := "commit " + b.Commit[:min(len(b.Commit), shortCommit)]
	if b.Date != "" {
		text += " of " + b.Date
	}
	if b.Modified {
		text += ", modified"
	}
	return text
}
