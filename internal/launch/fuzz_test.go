package launch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// FuzzDecode parses an environment variable. It would catch a process that starts with half a
// configuration, and a variable that unpacks to more memory than the container has.
func FuzzDecode(f *testing.F) {
	value, err := launch.Encode(launch.TaskExecutor{Application: "application_1_0001", Config: map[string]string{"a": "b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add(pack(f, bytes.Repeat([]byte(" "), 9<<20)))
	f.Fuzz(func(t *testing.T, value string) {
		survives[launch.AppMaster](t, value)
		survives[launch.TaskExecutor](t, value)
	})
}

// FuzzUnpacked parses a variable from its unpacked content, which FuzzDecode hardly reaches behind
// the checksum. It would catch a value that changes when it is passed on, and a file that is
// localized from another place.
func FuzzUnpacked(f *testing.F) {
	f.Add([]byte(`{"StagingDir":"hdfs://ns/x","Bobbin":{"URI":"hdfs://ns/x/bobbin","Size":-1},"HadoopConf":"QQ=="}`))
	f.Add([]byte(`{"Config":{"a":1},"Slots":1e99}`))
	f.Add([]byte(`{"Programs":{"":null},"Slots":0}null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		value := pack(t, text)
		survives[launch.AppMaster](t, value)
		survives[launch.TaskExecutor](t, value)
		a, err := launch.Decode[launch.AppMaster](value)
		if err != nil {
			return
		}
		if r, err := a.Bobbin.Localize(); err == nil && (r.URL.Scheme == "" || r.URL.Path == "" || r.Size != a.Bobbin.Size) {
			t.Errorf("%+v is localized as %+v", a.Bobbin, r)
		}
	})
}

func survives[T launch.AppMaster | launch.TaskExecutor](t *testing.T, value string) {
	t.Helper()
	want, err := launch.Decode[T](value)
	if err != nil {
		if !errors.Is(err, launch.ErrMalformed) {
			t.Errorf("error %v is not ErrMalformed", err)
		}
		return
	}
	again, err := launch.Encode(want)
	if errors.Is(err, launch.ErrTooLarge) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := launch.Decode[T](again)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("passed on: %v, %s", err, diff)
	}
}

// pack returns the value of a variable that unpacks to text.
func pack(t testing.TB, text []byte) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}
