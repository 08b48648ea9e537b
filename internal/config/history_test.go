package config

import "testing"

// TestTheHistoryServerHasAnAddress would catch a link in YARN that leads nowhere.
func TestTheHistoryServerHasAnAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{nil, ""},
		{map[string]string{"historyserver.web.port": "80"}, ""},
		{map[string]string{"historyserver.web.address": "history.example.org"}, "http://history.example.org:8082"},
		{map[string]string{"historyserver.web.address": "::1", "historyserver.web.port": "443", "historyserver.web.ssl.enabled": "true"}, "https://[::1]:443"},
	} {
		options, err := New(Layer{Source: "test", Values: c.values})
		if err != nil {
			t.Fatal(err)
		}
		if got := HistoryURL(options); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
