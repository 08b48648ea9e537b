package commitrecord

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

func large() Record {
	r := Record{Winners: make(map[int][]string), Counters: make(map[int]map[string]int64), Results: map[string][]byte{"top": {1, 2, 3}}}
	for v := range 20 {
		r.Winners[v] = []string{fmt.Sprintf("e1-v%d-s0-a0", v), "e2-v0-s1-a7"}
		r.Counters[v] = map[string]int64{fmt.Sprint("counter", v): int64(v)}
		r.Finished = append(r.Finished, Finished{Vertex: v, Tasks: []byte{byte(v), 2}})
	}
	for s := range jobgraph.MaxParallelism {
		r.Winners[7] = append(r.Winners[7][:s], fmt.Sprintf("e1-v6-s%d-a0", s))
	}
	return r
}

// TestARecordSurvivesItsMaster would catch a field that the next master does not get, and a record that has other bytes
// each time. The store would refuse to store it again after a doubtful answer.
func TestARecordSurvivesItsMaster(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Record{"large": large(), "empty": {}} {
		data, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(Finished{})); diff != "" {
			t.Errorf("%s: the record differs (-want +got):\n%s", name, diff)
		}
		if again, err := Encode(want); err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s: the same record has other bytes: %v", name, err)
		}
		encoded := map[int]ha.Commit{3: {Record: data, Finished: true}}
		all, err := DecodeAll(encoded)
		if err != nil || len(all) != 1 || len(all[3].Winners) != len(want.Winners) || !all[3].Committed {
			t.Errorf("%s: all records are %v, %v", name, all, err)
		}
		if len(encoded) > 0 {
			t.Errorf("%s: the record is held in two forms", name)
		}
	}
}

// TestOtherBytesAreRefused would catch a job that commits what is no record, and one that takes much memory for a few
// bytes.
func TestOtherBytesAreRefused(t *testing.T) {
	t.Parallel()
	good, err := Encode(large())
	if err != nil {
		t.Fatal(err)
	}
	next, err := encoding.Marshal(stored{Version: version + 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing":         nil,
		"half a record":   good[:len(good)/2],
		"more bytes":      append(bytes.Clone(good), 0),
		"another version": next,
		"another field":   []byte("\xa1\x64Evil\x01"),
		"a huge array":    []byte("\xa2\x67Version\x01\x66Record\xa1\x68Finished\x9a\x7f\xff\xff\xff"),
		"too long":        make([]byte, MaxBytes+1),
	} {
		if r, err := Decode(data); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %d winners, %v", name, len(r.Winners), err)
		}
		if all, err := DecodeAll(map[int]ha.Commit{0: {Record: good}, 1: {Record: data}}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s, among all: got %d, %v", name, len(all), err)
		}
	}
	if _, err := Encode(Record{Results: map[string][]byte{"r": make([]byte, MaxBytes)}}); err == nil {
		t.Error("a record is encoded that no master would decode")
	}
}

// FuzzDecode would catch bytes that crash a master, and a record that changes on its way to the next one.
func FuzzDecode(f *testing.F) {
	small := Record{Winners: map[int][]string{1: {"a"}}, Counters: map[int]map[string]int64{3: {"n": -1}}, Finished: []Finished{{Vertex: 3}}, Results: map[string][]byte{"r": {0}}}
	for _, r := range []Record{{}, small} {
		data, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := Decode(again); err != nil || !cmp.Equal(r, same, cmpopts.EquateEmpty(), cmp.AllowUnexported(Finished{})) {
			t.Errorf("record %+v becomes %+v, %v", r, same, err)
		}
	})
}
