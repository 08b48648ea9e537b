package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/localcopy"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ErrChanged says that a staged file is not the program with the expected hash.
var ErrChanged = errors.New("the file is not the program that was uploaded: remove it and submit the job again")

// Files is the part of a filesystem.FileSystem that Fetch needs.
type Files = localcopy.Files

// Fetch copies a staged program to a file that its owner can execute, and returns its size in
// bytes. It works as localcopy.Make. The error names the program, its URI and the cause, such as
// ErrChanged.
func Fetch(ctx context.Context, files Files, p msg.Program, path string) (size int64, err error) {
	size, err = localcopy.Make(ctx, files, localcopy.Want{URI: p.URI, SHA256: p.SHA256, Mode: 0o700}, path)
	switch {
	case err == nil:
		return size, nil
	case errors.Is(err, localcopy.ErrChanged):
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	case errors.Is(err, localcopy.ErrGone):
		err = fmt.Errorf("%w: submit the job again, and it uploads the program again", err)
	}
	return 0, fmt.Errorf("fetch program %s (SHA-256 %s) from %s: %w", p.Name, p.SHA256, p.URI, err)
}

// Verify checks that a file from another process, such as a NodeManager, has this SHA-256 in
// lower-case hex. Otherwise the error is ErrChanged.
func Verify(path, want string) error {
	digest := sha256.New()
	file, err := os.Open(path)
	if err == nil {
		_, err = io.Copy(digest, file)
		err = errors.Join(err, file.Close())
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); err == nil && sum != want {
		err = fmt.Errorf("%w: its SHA-256 is %s", ErrChanged, sum)
	}
	if err != nil {
		return fmt.Errorf("check program %s (SHA-256 %s): %w", path, want, cause(err))
	}
	return nil
}
