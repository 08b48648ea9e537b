package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// FuzzAnswers reads answers from the address of an ApplicationMaster. It would catch an answer that crashes the
// client, a time that wraps around, a root cause that scrolls the other output away, and an error without the
// object of the request, or with names of Go types.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		`{"state":"RUNNING","timestamps":{"RUNNING":1700000000000,"FAILED":-1},"vertices":[{"id":"a","parallelism":2,"tasks":{"FINISHED":1},"metrics":{"read-bytes":5}}],"plan":{"nodes":[{"id":"a","inputs":[null]}]}}`,
		`{"root-exception":"panic: boom\r\n\tmain.go:1"}`,
		`{"jid":"1","status":"FAILED","duration":9223372036854775807,"failure":{"message":"m"},"steps":[{"name":"s","timestamp":-9223372036854775808}]}`,
		`{"errors":["not now"]}`, `<html>`, `{"vertices":null,"plan":{"nodes":[{}]}} trailing`,
	} {
		f.Add(uint16(http.StatusOK), []byte(text))
		f.Add(uint16(http.StatusServiceUnavailable), []byte(text))
	}
	f.Add(uint16(http.StatusAccepted), []byte("0")) // of another request
	f.Add(uint16(http.StatusPermanentRedirect), []byte(`{"errors":[]}`))
	f.Add(uint16(http.StatusOK), []byte(`{"timestamps":[1],"vertices":{"a":1}}`))
	c := &ClusterClient{base: "https://am:1", token: "secret of the owner"}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		c.http = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: int(status), Request: r, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
		})}
		state, err := c.Job(t.Context(), runningJob)
		checkError(t, int(status), err)
		for _, at := range state.Entered {
			if at.Before(time.UnixMilli(1)) {
				t.Errorf("entered in %v", at)
			}
		}
		cause, err := c.RootCause(t.Context(), runningJob)
		checkError(t, int(status), err)
		if strings.ContainsAny(cause, "\r\n") {
			t.Errorf("root cause %q is more than a line", cause)
		}
		ended, err := c.Result(t.Context(), runningJob)
		checkError(t, int(status), err)
		if ended.Duration < 0 {
			t.Errorf("the job took %v", ended.Duration)
		}
	})
}

func checkError(t *testing.T, status int, err error) {
	t.Helper()
	switch refused, is := errors.AsType[*StatusError](err); {
	case is != (status != http.StatusOK) || is && refused.Status != status:
		t.Errorf("status %d: error %v", status, err)
	case err != nil && (!strings.Contains(err.Error(), "about job "+string(runningJob)) || strings.Contains(err.Error(), "/jobs") || strings.Contains(err.Error(), "secret of")):
		t.Errorf("error %v does not say what was asked, or says too much", err)
	case err != nil && !is && strings.Contains(err.Error(), "Go value"):
		t.Errorf("error %v tells of types of a program", err)
	}
}

// FuzzAccess reads what an ApplicationMaster has staged. It would catch a token that goes to another host than
// the one whose certificate is checked.
func FuzzAccess(f *testing.F) {
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		f.Fatal(err)
	}
	front, err := authority.IssueREST([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:8081", "[::1]:1", "h:1/x?y=", "me@h:1", "h", "h:1#", "%41:1"} {
		text, err := json.Marshal(launch.Access{Address: address, Token: "t"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var access launch.Access
		if json.Unmarshal(text, &access) != nil {
			return
		}
		access.Authority = front.Authority() // or no other would be asked
		c, err := NewClusterClient(access)
		if err != nil {
			if !strings.Contains(err.Error(), strconv.Quote(access.Address)) {
				t.Errorf("error %v does not name %q", err, access.Address)
			}
			return
		}
		defer c.Close()
		c.http.Transport = roundTrip(func(r *http.Request) *http.Response {
			if r.URL.Scheme != "https" || r.URL.Host != access.Address || r.URL.Path != "/jobs/"+string(runningJob) {
				t.Errorf("%q: the token is sent to %s", access.Address, r.URL)
			}
			return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: http.NoBody}
		})
		_, _ = c.Job(t.Context(), runningJob) // an answer without content
	})
}
