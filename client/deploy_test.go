package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// distant is a file system that, like HDFS, does nothing after the end of its context.
type distant struct{ *dfs.FS }

func (d distant) RemoveAll(ctx context.Context, uri string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return d.FS.RemoveAll(ctx, uri)
}

// TestStagedFilesGoWithoutYARN would catch that a ResourceManager that does not answer uses up the time to
// remove the keytab from HDFS.
func TestStagedFilesGoWithoutYARN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := dfs.New(dfs.Options{})
		rm := yarnclient.New(yarnclient.Options{
			Addresses: []string{"rm:8032"},
			Policy:    yarnrpc.Policy{MaxWait: time.Hour, BaseDelay: time.Second, MaxDelay: time.Second},
			RPC: yarnrpc.Options{
				Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "alice"}},
				Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { // nobody answers
					<-ctx.Done()
					return nil, context.Cause(ctx)
				},
			},
		})
		app := &Application{
			ID: records.ApplicationID{ClusterTimestamp: 1, ID: 1},
			c:  &Cluster{Files: files, YARN: rm},
		}
		var err error
		if app.staged, err = staging.New(distant{files}, "file://"+t.TempDir(), 0).Begin(t.Context(), app.ID.String()); err != nil {
			t.Fatal(err)
		}
		app.dir = app.staged.Dir
		if _, err := app.staged.PutResource(t.Context(), "krb5.keytab", []byte("key")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // as by ^C
		if err := app.Abandon(ctx); !errors.Is(err, ErrLeftBehind) {
			t.Errorf("that the application may go on is told as %v", err)
		}
		if _, err := files.Stat(t.Context(), app.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("staged files are left: %v", err)
		}
		if err := errors.Join(rm.Close(), files.Close()); err != nil {
			t.Error(err)
		}
	})
}
