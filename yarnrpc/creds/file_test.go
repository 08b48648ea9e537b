package creds

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Other tools compare and sign these files; testdata was written by Hadoop itself.
func TestFilesAreThoseThatHadoopWrites(t *testing.T) {
	for name, format := range map[string]Format{"writable.hdts": Writable, "protobuf.hdts": Protobuf} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("what was there before"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := sample().WriteFile(path, format); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v\ngot  %x\nwant %x", err, got, want)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file's mode is %v, %v", info.Mode(), err)
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	if err := sample().WriteFile(filepath.Join(t.TempDir(), "none", "file"), Writable); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if _, err := sample().MarshalFormat(2); !errors.Is(err, ErrFormat) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestBothFormatsReadBackWhatIsEmpty(t *testing.T) {
	c := New()
	c.Tokens["t"] = &Token{}
	c.Secrets["s"] = nil
	for _, f := range []Format{Writable, Protobuf} {
		b, err := c.MarshalFormat(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(b)
		if err != nil || len(got.Tokens) != 1 || len(got.Secrets) != 1 || got.Tokens["t"] == nil {
			t.Errorf("format %d: got %v, %v", f, got, err)
		}
	}
}

// Existing credentials must not be lost, and newer ones must replace them if the caller
// wants that.
func TestCredentialsAreMerged(t *testing.T) {
	token := func(service string) *Token { return &Token{Kind: KindRMDelegation, Service: service} }
	old := func() *Credentials {
		return &Credentials{
			Tokens:  map[string]*Token{"both": token("old"), "first": token("first")},
			Secrets: map[string][]byte{"both": []byte("old")},
		}
	}
	other := &Credentials{
		Tokens:  map[string]*Token{"both": token("new"), "second": token("second")},
		Secrets: map[string][]byte{"both": []byte("new"), "second": []byte("s")},
	}
	for name, tc := range map[string]struct {
		into  *Credentials
		merge func(*Credentials, *Credentials)
		want  map[string]string
	}{
		"others win":        {old(), (*Credentials).AddAll, map[string]string{"both": "new", "first": "first", "second": "second"}},
		"ours stay":         {old(), (*Credentials).MergeAll, map[string]string{"both": "old", "first": "first", "second": "second"}},
		"into a zero value": {new(Credentials), (*Credentials).MergeAll, map[string]string{"both": "new", "second": "second"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.merge(tc.into, other)
			got := make(map[string]string)
			for alias, token := range tc.into.Tokens {
				got[alias] = token.Service
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if string(tc.into.Secrets["both"]) != tc.want["both"] || string(tc.into.Secrets["second"]) != "s" {
				t.Errorf("secrets: %q", tc.into.Secrets)
			}
		})
	}
}
