package programs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

func detailsOf(e staging.Entry) msg.ProgramDetails {
	return msg.ProgramDetails{
		Program:  msg.Program{Name: e.Name, SHA256: e.SHA256, URI: e.URI},
		Size:     e.Size,
		Uploaded: time.UnixMilli(e.Timestamp),
	}
}

// Fetch copies a program to a new file in a local directory, from where it can be started. It works as
// program.Fetch. The caller removes the file.
func (s *Store) Fetch(ctx context.Context, p msg.Program, dir string) (path string, err error) {
	path, err = filepath.Abs(filepath.Join(dir, p.Name+"-"+ids.Random()))
	if err == nil {
		_, err = program.Fetch(ctx, s.files, p, path)
	}
	return path, err
}
