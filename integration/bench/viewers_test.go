package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// TestViewersAskAsThePageDoes would catch a measurement of paths that the page does not ask for any more.
func TestViewersAskAsThePageDoes(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	err := fs.WalkDir(os.DirFS("../../web/src"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".tsx") && !strings.HasSuffix(name, ".ts") {
			return err
		}
		content, err := os.ReadFile(path.Join("../../web/src", name))
		source.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range shownPages() {
		for _, asked := range page.questions {
			whole, query, _ := strings.Cut(asked.path, "?")
			words := []string{path.Base(whole)}
			if _, list, is := strings.Cut(query, "get="); is {
				for name := range strings.SplitSeq(list, ",") {
					words = append(words, strings.TrimPrefix(name, "Status.Go.")) // as the page puts them together
				}
			} else if query != "" {
				words = append(words, strings.TrimSuffix(query, "FULL"))
			}
			for _, word := range words {
				word = strings.TrimPrefix(word, "Rpc.protocol.")
				if _, field, is := strings.Cut(word, "Protocol."); is {
					word = field
				}
				if word == strings.ToUpper(word) || strings.HasSuffix(word, ".log") {
					continue // a JOB, a VERTEX, a WORKER or a file
				}
				if !regexp.MustCompile("['\"`/}?]" + regexp.QuoteMeta(word) + "['\"`?$]").MatchString(source.String()) {
					t.Errorf("page %s asks for %q of %s, which is not in web/src", page.name, word, asked.path)
				}
			}
		}
	}
	for _, name := range askedProtocols() {
		if !strings.Contains(source.String(), name+":") {
			t.Errorf("the page does not know %s", name)
		}
	}
}

// TestEachQuestionTakesAnAge would catch viewers whose answers nobody shares.
func TestEachQuestionTakesAnAge(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"overview": "?maxAge=1000", "taskmanagers/w/metrics?get=x": "&maxAge=1000"} {
		if got := maxAgeOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestViewersFollowALog would catch viewers of a log who read its end again and again, one who looks at a flame graph without the right
// to, and a refusal that counts as an answer.
func TestViewersFollowALog(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI+" "+r.Header.Get("Authorization"))
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set(restapi.HeaderNext, "12")
		w.Header().Set(restapi.HeaderFile, "2a")
	}))
	defer server.Close()
	access := launch.Access{Token: "all", Viewer: "some"}
	count := 0
	for _, q := range []question{{path: "log", follows: true}, {path: "flames?type=FULL", changes: true}} {
		ask := q.next(t.Context(), server.Client(), server.URL+"/"+q.path, access, &count)
		for range 2 {
			if err := ask(); err != nil {
				t.Error(err)
			}
		}
	}
	want := []string{
		"/log?offset=-262144 Bearer some", "/log?offset=12&file=2a Bearer some",
		"/flames?type=FULL&maxAge=1000 Bearer all", "/flames?type=FULL&maxAge=1000 Bearer all",
	}
	if diff := cmp.Diff(want, asked); diff != "" || count != len(want) {
		t.Errorf("%d requests (-want +got):\n%s", count, diff)
	}
	if err := (question{path: "gone"}).next(t.Context(), server.Client(), server.URL+"/gone", access, &count)(); err == nil {
		t.Error("a refusal counts as an answer")
	}
}
