package procmem_test

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

// TestMemoryIsCountedAsYARNDoes would catch a number of pages instead of bytes, the size of the
// address space, and children that are not counted.
func TestMemoryIsCountedAsYARNDoes(t *testing.T) {
	t.Parallel()
	before := procmem.OfProcess(os.Getpid())
	const size = 32 << 20
	held := make([]byte, size)
	for i := range held {
		held[i] = 1
	}
	after := procmem.OfProcess(os.Getpid())
	if before < config.Mebibyte || after < size || after > 16<<30 {
		t.Errorf("%d bytes are held, and then %d", before, after)
	}
	if held[size-1] != 1 {
		t.Error("what is held is gone")
	}

	child := exec.CommandContext(t.Context(), "sh", "-c", "cat <&3 & wait") // without <, a background process reads nothing
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	inherited, mine, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{inherited}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_ = inherited.Close()
	if _, err := mine.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil { // the grandchild runs
		t.Fatal(err)
	}
	alone, tree := procmem.OfProcess(child.Process.Pid), procmem.OfTree(child.Process.Pid)
	if alone == 0 || tree <= alone {
		t.Errorf("a process holds %d bytes, and with its child %d", alone, tree)
	}
	_ = mine.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if gone := procmem.OfTree(child.Process.Pid); gone != 0 {
		t.Errorf("a process that has ended holds %d bytes", gone)
	}
}
