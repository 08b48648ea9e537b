package artifacts

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPOMNamesEachArtifactWithTheVersion would catch a template that Maven reads differently.
func TestPOMNamesEachArtifactWithTheVersion(t *testing.T) {
	text, err := renderPOM("3.3.6")
	if err != nil {
		t.Fatal(err)
	}
	var pom struct {
		Dependencies []struct {
			Group    string `xml:"groupId"`
			Artifact string `xml:"artifactId"`
			Version  string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(text, &pom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range pom.Dependencies {
		got = append(got, d.Artifact)
		if d.Group != "org.apache.hadoop" || d.Version != "3.3.6" {
			t.Errorf("dependency %+v", d)
		}
	}
	if diff := cmp.Diff(hadoopArtifacts[:], got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
}

func TestFetchRefusesWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"../3.4.3", "3.4.3</version>", "latest", "3"} {
		if _, err := Fetch(t.Context(), version); err == nil {
			t.Errorf("version %q is taken", version)
		}
	}
}

// TestFetchNamesTheCommandThatInstallsAMissingTool would catch an error without a remedy.
func TestFetchNamesTheCommandThatInstallsAMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := Fetch(t.Context(), DefaultVersion)
	if !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("got %v", err)
	}
}
