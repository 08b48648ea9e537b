package client

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAPlantedAccessIsNotTaken is the attack of a user who may write to a directory of the staging area, and
// puts the address and the certificate of a server there. It would catch a client that sends the programs of
// its user to that server.
func TestAPlantedAccessIsNotTaken(t *testing.T) {
	t.Parallel()
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	for name, test := range map[string]struct {
		place       string // mode of what others may write to
		mode        fs.FileMode
		application string
		want        error
		text        string
	}{
		"of the user's alone":              {"", 0o755, id.String(), nil, ""},
		"that others may write":            {"/.bobbin/" + id.String() + "/access.json", 0o666, id.String(), staging.ErrExposed, "access.json"},
		"in a directory of others":         {"/.bobbin/" + id.String(), 0o777, id.String(), staging.ErrExposed, "drwxrwxrwx"},
		"in an area that is open":          {"/.bobbin", 0o775, id.String(), staging.ErrExposed, "drwxrwxr-x"},
		"in a home that is open":           {"", 0o777, id.String(), staging.ErrExposed, "hadoop fs -chmod o-w"},
		"of another application":           {"", 0o755, "application_1_0002", ErrNoAccess, "application_1_0002"},
		"of an application without a name": {"", 0o755, "", ErrNoAccess, "access.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := dfs.New(dfs.Options{})
			t.Cleanup(func() { _ = files.Close() })
			home := t.TempDir()
			staged, err := staging.New(files, "file://"+home, 0).Begin(t.Context(), id.String())
			if err != nil {
				t.Fatal(err)
			}
			content, err := json.Marshal(launch.Access{Address: "mallory:1", Token: "t", Application: test.application})
			if err == nil {
				err = staged.Put(t.Context(), launch.AccessFile, content)
			}
			if err = errors.Join(err, os.Chmod(filepath.Join(home, test.place), test.mode)); err != nil {
				t.Fatal(err)
			}
			app := &Application{ID: id, c: &Cluster{Files: files}, dir: staged.Dir}
			access, err := app.Access(t.Context())
			switch {
			case test.want == nil:
				if err != nil || access.Address != "mallory:1" {
					t.Errorf("got %+v, %v", access, err)
				}
			case !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text):
				t.Errorf("got %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
}
