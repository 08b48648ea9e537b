package restapi_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// FuzzReadPage parses a server's answer for a page of results. It would catch another answer that
// counts as a page, and one that fills the client's memory.
func FuzzReadPage(f *testing.F) {
	f.Add("3", "42", "true", []byte{1, 0xff})
	f.Add("", "-1", "T", []byte("<html>"))
	f.Fuzz(func(t *testing.T, epoch, next, end string, body []byte) {
		header := http.Header{}
		header.Set(restapi.HeaderEpoch, epoch)
		header.Set(restapi.HeaderNext, next)
		header.Set(restapi.HeaderEnd, end)
		page, err := restapi.ReadPage(&http.Response{Header: header, Body: io.NopCloser(io.MultiReader(bytes.NewReader(body)))})
		switch {
		case err == nil && (page.Epoch < 0 || page.Next < 0 || !bytes.Equal(page.Records, body)):
			t.Errorf("%q, %q and %d bytes are page %d, %d with %d bytes", epoch, next, len(body), page.Epoch, page.Next, len(page.Records))
		case err != nil && !errors.Is(err, restapi.ErrNoPage):
			t.Errorf("error %v is not ErrNoPage", err)
		}
	})
}
