package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

func detailsOf(e staging.Entry) msg.ProgramDetails {
	return msg.ProgramDetails{
		Program:  msg.Program{Name: e.Name, SHA256: e.SHA256, URI: e.URI},
		Size:     e.Size,
		Uploaded: time.UnixMilli(e.Timestamp),
	}
}

// Fetch copies a program to a new file in a local directory, from where it can be
// started, and checks that it is what its hash says. The caller removes it.
func (s *Store) Fetch(ctx context.Context, p msg.Program, dir string) (path string, err error) {
	source, err := s.files.Open(ctx, p.URI)
	if err != nil {
		return "", fmt.Errorf("fetch program %s: %w", p.Name, err)
	}
	defer source.Close() // read only: nothing to lose
	target, err := os.CreateTemp(dir, p.Name+"-*")
	if err != nil {
		return "", fmt.Errorf("fetch program %s: %w", p.Name, err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(target, sum), source)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		err = fmt.Errorf("%s is not what it was: remove it, and upload it again", p.URI)
	}
	if err = errors.Join(err, target.Chmod(0o500), target.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("fetch program %s: %w", p.Name, err), os.Remove(target.Name()))
	}
	return target.Name(), nil
}
