package releases

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// marker is in every file that is large enough for it.
const marker = "what everybody may read unless there is privacy; "

// files writes and reads files as a user, and looks at the bytes on the sockets.
func (p *place) files(t *testing.T) {
	var sockets bobbintest.Tap
	o := rpctest.FSOptions(t, p.Cluster, alice)
	o.Dial = sockets.Dial
	files := rpctest.FS(t, o)
	dir := rpctest.Scratch(t, files)
	var all []byte
	var uris []string
	for _, size := range []int{0, 1, 64<<10 + 1, 1 << 20} {
		want := []byte(strings.Repeat(marker, size/len(marker)+1)[:size])
		uri := fmt.Sprintf("%s/%d", dir, size)
		if err := files.WriteFile(t.Context(), uri, want, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := files.ReadFile(t.Context(), uri, 1<<30); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes come back to us as %d, %v", size, len(got), err)
		}
		all, uris = append(all, want...), append(uris, uri)
	}
	got := rpctest.Java(t, p.Cluster, rpctest.Identity(t, p.Cluster, alice), cluster.FsShell, append([]string{"-cat"}, uris...)...)
	if got != string(all) {
		t.Errorf("the %d bytes of all files are %d to Java, or others", len(all), len(got))
	}
	readable := p.protection != privacy
	sockets.Check(t, marker, readable, readable)
}
