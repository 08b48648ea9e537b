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
func Revision() string { return BuildOf().Commit }

// Build is what the go command has recorded of a build that it made in a repository; the zero
// one: nothing.
type Build struct {
	Commit   string // in full
	Date     string // of the commit, RFC 3339
	Modified bool   // files differed from the commit's
}

// BuildOf gives the Build of this process' program.
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

// shortCommit is how much of a commit people read.
const shortCommit = 12

// String names the build for people.
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
