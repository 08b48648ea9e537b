package cli

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// errNoDisplay says that this machine shows no windows to the user.
var errNoDisplay = errors.New("this terminal has no display")

// showInBrowser opens a link in the user's browser. Every user of this machine can read command lines, so the
// browser gets the name of a file that leads to the link, and only the user can read the file. The file stays, because
// nothing tells when the browser has read it; the next call replaces it. A browser in a sandbox may be unable to read
// the file, so the caller prints the link too.
func (c *call) showInBrowser(link string) error {
	opener := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		opener = "open"
	case c.getenv("DISPLAY") == "" && c.getenv("WAYLAND_DISPLAY") == "":
		return errNoDisplay
	}
	program, err := exec.LookPath(opener)
	if err != nil {
		return err
	}
	home := c.getenv("HOME")
	if home == "" {
		return errors.New("HOME is not set")
	}
	path, err := writeRedirection(filepath.Join(home, ".cache", "bobbin"), link)
	if err != nil {
		return err
	}
	command := exec.Command(program, path) //nolint:noctx // the browser stays when this command ends
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", opener, err)
	}
	return command.Process.Release()
}

// writeRedirection writes a page that leads to a link, and returns its path. Only the user can read the directory and
// the page.
func writeRedirection(dir, link string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write page for the browser: %w", err)
	}
	file, err := os.CreateTemp(dir, "open-*.tmp") // mode 0600
	if err != nil {
		return "", fmt.Errorf("write page for the browser: %w", err)
	}
	at := html.EscapeString(link)
	_, err = fmt.Fprintf(file, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<title>Bobbin</title>\n<a href=\"%s\">Open Bobbin</a>\n", at, at)
	err = errors.Join(err, file.Close())
	path = filepath.Join(dir, "open.html")
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("write page for the browser: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return path, nil
}
