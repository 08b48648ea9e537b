package dataflow

import "testing"

// Two spellings of one directory. It would catch an output that is written over the input of the same job.
func TestPlacesHaveManySpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uri, dir string
		want     bool
	}{
		{"hdfs://nn/a/x", "hdfs://nn/a", true},
		{"hdfs://nn/a", "hdfs://nn/a", true},
		{"hdfs://nn/ab", "hdfs://nn/a", false},
		{"hdfs://nn/a", "hdfs://nn/a/x", false},
		{"hdfs://nn/a", "hdfs://nn/", true},
		{"hdfs://nn:8020/a/x", "hdfs://nn/a", true},
		{"hdfs://nn/a/x", "hdfs://NN:8020/a", true},
		{"hdfs://nn:9000/a/x", "hdfs://nn/a", false},
		{"hdfs://nn/A/x", "hdfs://nn/a", false},
		{"hdfs://other/a/x", "hdfs://nn/a", false},
		{"file:///a/x", "hdfs://nn/a", false},
		{"file:///a/x", "file:///a", true},
	} {
		if got := placeOf(c.uri).within(placeOf(c.dir)); got != c.want {
			t.Errorf("%s in %s: %v, want %v", c.uri, c.dir, got, c.want)
		}
	}
}
