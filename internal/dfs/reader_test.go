package dfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// readBlockSize is the block size of the files in these tests. Each file has several blocks of
// several packets.
const readBlockSize = 150 << 10

// opened makes a file of two and a half blocks and opens it.
func opened(t *testing.T, f *FS, fake *hdfsfake.Fake) (content []byte, file filesystem.File) {
	t.Helper()
	content = pattern(2*readBlockSize + readBlockSize/2)
	fake.WriteFile("/file", content)
	file, err := f.Open(t.Context(), "/file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return content, file
}

// It would catch bytes that were fetched for another position, and a wrong position after a seek
// within a fetched chunk.
func TestSeeksFindTheRightBytes(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: readBlockSize}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		content, file := opened(t, f, fake)
		model := bytes.NewReader(content)
		chance := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			whence := chance.IntN(3)
			offset := chance.Int64N(int64(len(content)))
			switch {
			case whence == io.SeekCurrent && chance.IntN(2) == 0:
				offset = chance.Int64N(2000) // near: the fetched chunk is used
			case whence == io.SeekCurrent:
				offset -= int64(len(content)) / 2
			case whence == io.SeekEnd:
				offset = -offset
			}
			want, wantErr := model.Seek(offset, whence)
			got, err := file.Seek(offset, whence)
			if (err != nil) != (wantErr != nil) || err == nil && got != want {
				t.Fatalf("seek %d, %d gives %d, %v; want %d, %v", offset, whence, got, err, want, wantErr)
			}
			n := chance.IntN(3 * chunkBytes)
			wantBytes, gotBytes := make([]byte, n), make([]byte, n)
			wantN, _ := io.ReadFull(model, wantBytes)
			gotN, err := io.ReadFull(file, gotBytes)
			if gotN != wantN || !bytes.Equal(gotBytes, wantBytes) || err != nil && wantN == n {
				t.Fatalf("after seek %d, %d: %d bytes, %v, want %d", offset, whence, gotN, err, wantN)
			}
		}
		for _, wrong := range []struct {
			offset int64
			whence int
		}{{-1, io.SeekStart}, {0, 7}} {
			if _, err := file.Seek(wrong.offset, wrong.whence); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("seek to %+v: %v", wrong, err)
			}
		}
	})
}

// It would catch a read that starts again, skips, doubles or corrupts bytes where a connection
// broke. With one DataNode the reader must open the file again, with two it reads from the other
// one.
func TestReadingGoesOnWhereItBroke(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	const packet = 64 << 10
	faults := map[string]struct {
		strike func(*hdfsfake.Fake, int64)
		after  []int64
	}{
		"cut":     {(*hdfsfake.Fake).CutRead, []int64{0, 511, packet, packet + 77}},
		"silent":  {(*hdfsfake.Fake).StallRead, []int64{0, packet + 77}},
		"corrupt": {(*hdfsfake.Fake).CorruptRead, []int64{0, packet, packet + 77}},
		"refused": {func(f *hdfsfake.Fake, _ int64) { f.RefuseRead() }, []int64{0}},
	}
	for _, dataNodes := range []int{1, 2} {
		for name, fault := range faults {
			for _, after := range fault.after {
				t.Run(fmt.Sprintf("%s after %d of %d", name, after, dataNodes), func(t *testing.T) {
					t.Parallel()
					onHDFS(t, hdfsfake.Config{BlockSize: readBlockSize, DataNodes: dataNodes}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
						content, file := opened(t, f, fake)
						fault.strike(fake, after)
						got, err := io.ReadAll(file)
						if err != nil || !bytes.Equal(got, content) {
							t.Fatalf("%d of %d bytes are read, %v", len(got), len(content), err)
						}
						checkReads(t, fake, after-after%packet)
					})
				})
			}
		}
	}
}

// checkReads checks that no complete packet was read again: after a break, the reader has returned
// the whole packets.
func checkReads(t *testing.T, fake *hdfsfake.Fake, want int64) {
	t.Helper()
	reads := fake.Reads()
	if len(reads) != 4 { // three blocks, one of them twice
		t.Fatalf("blocks are read in %d pieces: %v", len(reads), reads)
	}
	if got := reads[1].Offset; got != want {
		t.Errorf("reading goes on at %d, want %d: %v", got, want, reads)
	}
}

// It would catch a failure that is retried forever or not at all, one that the next Read forgets,
// and a file that stays broken after a new Open.
func TestReadingThatFailsAgainAndAgainEnds(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		content, file := opened(t, f, fake)
		const tries = 4 // the first, and three after it
		for range tries {
			fake.CutRead(0)
		}
		began := time.Now()
		got, err := io.ReadAll(file)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
			t.Fatalf("%d bytes, %v, want %v", len(got), err, io.ErrUnexpectedEOF)
		}
		if waited := time.Since(began); waited != (200+400+800)*time.Millisecond {
			t.Errorf("it was given up after %v", waited)
		}
		if n, again := file.Read(make([]byte, 1)); n != 0 || again == nil || again.Error() != err.Error() {
			t.Errorf("the next read gives %d, %v, want %v", n, again, err)
		}
		if _, err := file.Seek(1, io.SeekStart); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content[1:]) {
			t.Errorf("after a seek: %d bytes, %v", len(got), err)
		}
	})
}

// A task that reads the rest from another file gives a result that no input explains.
func TestAFileThatChangesWhileItIsReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*hdfsfake.Fake, []byte)
		want   error
	}{
		"another length": {func(fake *hdfsfake.Fake, content []byte) { fake.WriteFile("/file", content[1:]) }, errChanged},
		"another time":   {func(fake *hdfsfake.Fake, content []byte) { fake.WriteFile("/file", content) }, errChanged},
		"gone":           {func(fake *hdfsfake.Fake, _ []byte) { fake.Remove("/file") }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{BlockSize: readBlockSize}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				content, file := opened(t, f, fake)
				fake.CutRead(64 << 10)
				if _, err := io.ReadFull(file, make([]byte, 64<<10)); err != nil {
					t.Fatal(err)
				}
				tc.change(fake, content)
				began := time.Now()
				got, err := io.ReadAll(file)
				if !errors.Is(err, tc.want) || len(got) != 0 {
					t.Errorf("%d more bytes, %v, want %v", len(got), err, tc.want)
				}
				if waited := time.Since(began); waited > firstRetryWait {
					t.Errorf("it was tried again for %v", waited)
				}
			})
		})
	}
}

// It would catch a task that cannot be cancelled while a DataNode is silent.
func TestCloseEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(*FS, filesystem.File) error
		want error
	}{
		"of the file":         {func(_ *FS, file filesystem.File) error { return file.Close() }, fs.ErrClosed},
		"of all file systems": {func(f *FS, _ filesystem.File) error { return f.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				_, file := opened(t, f, fake)
				fake.StallRead(1000)
				began := time.Now()
				failed := make(chan error, 1)
				go func() {
					_, err := file.Read(make([]byte, 1))
					failed <- err
				}()
				synctest.Wait()
				if err := tc.end(f, file); err != nil {
					t.Error(err)
				}
				if err := <-failed; !errors.Is(err, tc.want) {
					t.Errorf("the read gives %v, want %v", err, tc.want)
				}
				if _, err := file.Read(make([]byte, 1)); !errors.Is(err, tc.want) {
					t.Errorf("the next read gives %v, want %v", err, tc.want)
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("it has taken %v", waited)
				}
			})
		})
	}
}

// It would catch a fetch that continues after a Seek, or after Close while it waits to open the
// file again. Each holds a goroutine and a connection.
func TestNothingIsFetchedForNobody(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(filesystem.File) error{
		"seek": func(file filesystem.File) error {
			_, err := file.Seek(0, io.SeekEnd)
			return err
		},
		"close": filesystem.File.Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{BlockSize: readBlockSize}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				_, file := opened(t, f, fake)
				fake.CutRead(64 << 10)
				fake.CutRead(0)
				if _, err := io.ReadFull(file, make([]byte, 64<<10)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // it is about to open the file again
				if err := leave(file); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if reads := fake.Reads(); len(reads) != 1 {
					t.Errorf("blocks were read: %v", reads)
				}
			})
		})
	}
}

// The calls have already retried a silent NameNode for the whole patience. The test would catch a
// read that multiplies that time.
func TestReadingEndsWithTheNameNode(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: readBlockSize}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		_, file := opened(t, f, fake)
		fake.CutRead(64 << 10)
		if _, err := io.ReadFull(file, make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fake.StopNameNode(0)
		began := time.Now()
		_, err := io.ReadAll(file)
		if _, unanswered := errors.AsType[*yarnrpc.CallError](err); !unanswered {
			t.Errorf("read: %v, want that the NameNode did not answer", err)
		}
		if waited := time.Since(began); waited > firstRetryWait+testPatience {
			t.Errorf("it was given up after %v", waited)
		}
	})
}

// It would catch unbounded reading ahead: jobs read many files at once.
func TestReadingAheadIsBounded(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: 64 << 10}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10*64<<10))
		file, err := f.Open(t.Context(), "/file")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if reads := fake.Reads(); len(reads) > chunksAhead+1 {
			t.Errorf("%d blocks were read for one byte", len(reads))
		}
	})
}
