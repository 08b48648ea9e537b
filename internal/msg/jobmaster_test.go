package msg

import (
	"reflect"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// TestEveryPartOfAJobSpecCounts would catch a new field that Equal forgets: a host of another job, or with other
// options, would run the tasks.
func TestEveryPartOfAJobSpecCounts(t *testing.T) {
	t.Parallel()
	other := JobSpec{
		ID: "j", Job: "words", Name: "n", Args: []byte("{}"), Digest: "d", Parallelism: 2,
		Config: map[string]string{"a": "b"}, Files: []jobgraph.CachedFile{{Name: "f"}},
	}
	if same := other; !other.Equal(same) || !(JobSpec{}).Equal(JobSpec{Args: []byte{}, Config: map[string]string{}}) {
		t.Error("a spec differs from itself, or from its form on the wire")
	}
	for i := range reflect.TypeFor[JobSpec]().NumField() {
		var one JobSpec
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		if one.Equal(JobSpec{}) {
			t.Errorf("a spec with another %s is equal", reflect.TypeFor[JobSpec]().Field(i).Name)
		}
	}
}
