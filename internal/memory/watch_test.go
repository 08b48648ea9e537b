package memory_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

func TestTheHostFurthestOverItsShareIsEnded(t *testing.T) {
	t.Parallel()
	use := func(id string, resident, share config.Bytes) memory.Usage[string] {
		return memory.Usage[string]{ID: id, Resident: resident * mb, Share: share * mb}
	}
	for name, test := range map[string]struct {
		rest  config.Bytes
		hosts []memory.Usage[string]
		want  string
	}{
		"below 97 % nobody is":                   {50, []memory.Usage[string]{use("a", 900, 100)}, ""},
		"at 97 % the one over its share is":      {94, []memory.Usage[string]{use("a", 500, 400), use("b", 400, 450)}, "a"},
		"not the largest, but the furthest over": {50, []memory.Usage[string]{use("a", 700, 690), use("b", 290, 200)}, "b"},
		"of equals the first by name is":         {20, []memory.Usage[string]{use("b", 490, 400), use("a", 490, 400)}, "a"},
		"nobody is for what others hold":         {900, []memory.Usage[string]{use("a", 100, 400)}, ""},
		"without hosts nobody is":                {1024, nil, ""},
	} {
		got, found := memory.Victim(1024*mb, test.rest*mb, test.hosts)
		if found != (test.want != "") || found && got.ID != test.want {
			t.Errorf("%s: got %+v, %t", name, got, found)
		}
	}
}
