package dfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// testPatience is for calls that fail. Each second the library checks its leases, and waits at a
// mutex for a running call. Meanwhile the bubble's clock stands still. So a call through the
// library must finish its waits before the first second has passed.
const testPatience = 500 * time.Millisecond

// onHDFS runs a test against a fake HDFS, in a bubble of its own: waits there take no time.
func onHDFS(t *testing.T, c hdfsfake.Config, test func(t *testing.T, f *FS, fake *hdfsfake.Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := hdfsfake.Start(c)
		defer fake.Stop()
		f := New(Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial, Patience: testPatience})
		defer f.Close()
		test(t, f, fake)
	})
}

// pattern returns content in which no two places are alike.
func pattern(size int) []byte {
	b := make([]byte, 0, size+16)
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, "%d\n", i)
	}
	return b[:size]
}

// It would catch bytes that are lost, doubled or misplaced at the beginning of a block, and a file
// whose last block is not reported to the NameNode.
func TestFilesOfSeveralBlocksAreWrittenAndRead(t *testing.T) {
	t.Parallel()
	const blockSize = 100 << 10
	for _, size := range []int{0, 1, 511, blockSize - 1, blockSize, blockSize + 1, 3*blockSize + 4097} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{BlockSize: blockSize}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				want := pattern(size)
				w, err := f.Create(t.Context(), "/a/b/file", filesystem.MakeParents)
				if err != nil {
					t.Fatal(err)
				}
				for rest := want; len(rest) > 0; { // pieces that fit neither packets nor blocks
					n, err := w.Write(rest[:min(len(rest), 7001)])
					if err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if got, complete := fake.ReadFile("/a/b/file"); !complete || !bytes.Equal(got, want) {
					t.Fatalf("HDFS has %d bytes, complete: %t", len(got), complete)
				}
				got, err := f.ReadFile(t.Context(), "/a/b/file", int64(size))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes are read, %v", len(got), err)
				}
				checkBlocks(t, f, fake, size, blockSize)
			})
		})
	}
}

// checkBlocks checks the blocks of /a/b/file and their description.
func checkBlocks(t *testing.T, f *FS, fake *hdfsfake.Fake, size, blockSize int) {
	t.Helper()
	var want []filesystem.Block
	for at := 0; at < size; at += blockSize {
		want = append(want, filesystem.Block{Offset: int64(at), Length: int64(min(blockSize, size-at)), Hosts: fake.DataNodes()})
	}
	blocks := scanned(t, f, "/a/b/file")[0].Blocks
	if len(want)+len(blocks) > 0 && !cmp.Equal(want, blocks) {
		t.Errorf("blocks (-want +got):\n%s", cmp.Diff(want, blocks))
	}
	info, err := f.Stat(t.Context(), "/a/b/file")
	uri := "hdfs://" + fake.Authority() + "/a/b/file"
	if err != nil || info.URI != uri || info.Size != int64(size) || info.IsDir || !info.ModTime.Equal(time.Now().Truncate(time.Millisecond)) {
		t.Errorf("it is described as %+v, %v", info, err)
	}
	status, err := f.Status(t.Context(), "/a/b/file")
	if want := (Status{FileInfo: info, Owner: "alice", Own: true, Mode: 0o644}); err != nil || status != want {
		t.Errorf("its status is %+v, %v, want %+v, with the mode of the umask", status, err, want)
	}
	if status, err := f.Status(t.Context(), "/"); err != nil || status.Own || status.Owner != "hdfs" || status.Mode != 0o777 {
		t.Errorf("the root's status is %+v, %v", status, err)
	}
}

// It would catch Hadoop's defaults that override the cluster's, and a user's options without
// effect.
func TestNewFilesAreAsConfigured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		properties  map[string]string
		options     CreateOptions
		replication int
		mode        fs.FileMode
		blocks      int
	}{
		"as the NameNode has it":  {nil, CreateOptions{}, 1, 0o644, 1},
		"as the files have it":    {map[string]string{"dfs.replication": "2", "dfs.blocksize": "1k", "fs.permissions.umask-mode": "027"}, CreateOptions{}, 2, 0o640, 3},
		"fewer":                   {map[string]string{"dfs.replication": "3"}, CreateOptions{Fewer: 1, Mode: 0o600}, 2, 0o600, 1},
		"at least one":            {map[string]string{"dfs.replication": "2"}, CreateOptions{Fewer: 2, Mode: 0o600}, 1, 0o600, 1},
		"as the caller has asked": {map[string]string{"dfs.replication": "2"}, CreateOptions{Replication: 5, Mode: 0o600}, 5, 0o600, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				g := New(Options{Conf: fake.Conf().With("test", tc.properties), User: "alice", Dial: fake.Dial})
				defer g.Close()
				if _, err := g.write(t.Context(), bytes.NewReader(pattern(3000)), "/file", UploadOptions{CreateOptions: tc.options}); err != nil {
					t.Fatal(err)
				}
				if blocks := scanned(t, f, "/file")[0].Blocks; len(blocks) != tc.blocks {
					t.Errorf("it has %d blocks, want %d", len(blocks), tc.blocks)
				}
				if status, err := f.Status(t.Context(), "/file"); err != nil || status.Mode != tc.mode || fake.Replication("/file") != tc.replication {
					t.Errorf("its mode is %v, %v, and it has %d copies", status.Mode, err, fake.Replication("/file"))
				}
				later, err := strconv.Atoi(tc.properties["dfs.replication"])
				if err != nil {
					later = 1 // the NameNode's default
				}
				if err := g.Replicate(t.Context(), "/file"); err != nil || fake.Replication("/file") != later {
					t.Errorf("replicated: %v, and it has %d copies, want %d", err, fake.Replication("/file"), later)
				}
			})
		})
	}
	conf := map[string]string{"fs.defaultFS": "hdfs://nn", "dfs.blocksize": "many"}
	if _, err := New(Options{Conf: confOf(conf), User: "alice"}).Stat(t.Context(), "/x"); err == nil {
		t.Error("a size that is none was taken")
	}
}

// It would catch a listing that ends after its first part, which has a thousand entries on HDFS.
func TestListingsOfSeveralPartsAreWhole(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{ListLimit: 3}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		var want []string
		for i := range 10 {
			name := fmt.Sprintf("/dir/f%d", i)
			fake.WriteFile(name, pattern(i))
			want = append(want, "hdfs://"+fake.Authority()+name)
		}
		fake.WriteFile("/dir/sub/x", nil)
		want = append(want, "hdfs://"+fake.Authority()+"/dir/sub")
		entries, err := f.List(t.Context(), "/dir")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, e := range entries {
			got = append(got, e.URI)
			if e.IsDir != (i == 10) || i < 10 && e.Size != int64(i) {
				t.Errorf("entry %d is %+v", i, e)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	})
}

// scanned returns the result of a Scan.
func scanned(t *testing.T, f *FS, uri string) []filesystem.Entry {
	t.Helper()
	var entries []filesystem.Entry
	err := f.Scan(t.Context(), uri, func(part []filesystem.Entry) error {
		entries = append(entries, part...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// errException stands for an exception of the NameNode without an error value in this module.
var errException = errors.New("an exception of the NameNode")

// Callers decide by these errors: a job fails at once if its output exists, and a clean-up is done
// if it finds nothing.
func TestErrorsOfHDFSCanBeTested(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		ctx := t.Context()
		fake.WriteFile("/file", pattern(10))
		fake.WriteFile("/dir/file", pattern(10))
		open := func(uri string) error {
			_, err := f.Open(ctx, uri)
			return err
		}
		create := func(uri string) error {
			_, err := f.Create(ctx, uri, filesystem.ExistingParents)
			return err
		}
		_, stat := f.Stat(ctx, "/none")
		_, list := f.List(ctx, "/none")
		scan := f.Scan(ctx, "/none", func([]filesystem.Entry) error { return nil })
		refused := func(method, class string, call func() error) error {
			fake.Refuse(method, hdfsfake.Before, class, "no")
			return call()
		}
		const denied = "org.apache.hadoop.security.AccessControlException"
		tests := map[string]struct{ err, want error }{
			"stat of nothing":                    {stat, fs.ErrNotExist},
			"list of nothing":                    {list, fs.ErrNotExist},
			"scan of nothing":                    {scan, fs.ErrNotExist},
			"reading what is not there":          {f.CheckReadable(ctx, "/none"), fs.ErrNotExist},
			"removal of a directory in use":      {f.Remove(ctx, "/dir"), filesystem.ErrNotEmpty},
			"removal of one file of none":        {f.Remove(ctx, "/none"), nil},
			"open of nothing":                    {open("/none"), fs.ErrNotExist},
			"open of a directory":                {open("/dir"), errIsDirectory},
			"create of what exists":              {create("/file"), fs.ErrExist},
			"create in a missing directory":      {create("/none/x"), fs.ErrNotExist},
			"rename of nothing":                  {f.Rename(ctx, "/none", "/x"), fs.ErrNotExist},
			"rename to what exists":              {f.Rename(ctx, "/file", "/dir"), fs.ErrExist},
			"rename into a missing directory":    {f.Rename(ctx, "/file", "/none/x"), fs.ErrNotExist},
			"removal of nothing":                 {f.RemoveAll(ctx, "/none"), nil},
			"making a directory that is there":   {f.MkdirAll(ctx, "/dir"), nil},
			"making one that is there":           {f.Mkdir(ctx, "/dir"), fs.ErrExist},
			"making one where a file is":         {f.Mkdir(ctx, "/file"), fs.ErrExist},
			"making one without its parent":      {f.Mkdir(ctx, "/none/x"), fs.ErrNotExist},
			"making one":                         {f.Mkdir(ctx, "/dir/new"), nil},
			"making a directory where a file is": {f.MkdirAll(ctx, "/file"), fs.ErrExist},
			"a directory that may not be made":   {refused("mkdirs", denied, func() error { return f.MkdirAll(ctx, "/x") }), fs.ErrPermission},
			"a file that may not be made":        {refused("create", denied, func() error { return create("/x") }), fs.ErrPermission},
			"a rename that may not be":           {refused("rename2", denied, func() error { return f.Rename(ctx, "/file", "/x") }), fs.ErrPermission},
			"a file that may not be read":        {refused("getBlockLocations", denied, func() error { return f.CheckReadable(ctx, "/file") }), fs.ErrPermission},
			"a full directory": {refused("rename2", "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", func() error {
				return f.Rename(ctx, "/file", "/x")
			}), filesystem.ErrQuota},
			"an exception without a sentinel": {refused("rename2", "java.lang.IllegalStateException", func() error {
				return f.Rename(ctx, "/file", "/x")
			}), errException},
			"removed by somebody else meanwhile": {refused("delete", "java.io.FileNotFoundException", func() error { return f.RemoveAll(ctx, "/file") }), nil},
		}
		for name, test := range tests {
			if errors.Is(test.want, errException) {
				if _, is := errors.AsType[*yarnrpc.RemoteError](test.err); !is {
					t.Errorf("%s: error is %v, want the NameNode's", name, test.err)
				}
			} else if !errors.Is(test.err, test.want) {
				t.Errorf("%s: error is %v, want %v", name, test.err, test.want)
			}
		}
		if _, err := f.List(ctx, "/file"); err == nil {
			t.Error("a file was listed")
		}
		if err := f.Rename(ctx, "/file", "file:///tmp/x"); err == nil {
			t.Error("a file was renamed to another file system")
		}
		if err := f.RemoveAll(ctx, "/dir"); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"/file"}, fake.Paths()); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}

// The library treats the raw bytes of such files as their content. The test would catch a job that
// reads or writes garbage, and a file that is left behind after a refused write.
func TestFilesThatAreNotPlainAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mark func(*hdfsfake.Fake)
		want error
	}{
		"encrypted":     {func(f *hdfsfake.Fake) { f.Encrypt("/zone") }, filesystem.ErrEncryptionZone},
		"erasure coded": {func(f *hdfsfake.Fake) { f.Stripe("/zone") }, filesystem.ErrErasureCoded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				ctx := t.Context()
				fake.WriteFile("/zone/file", pattern(10))
				plain, err := f.Open(ctx, "/zone/file")
				if err != nil {
					t.Fatal(err)
				}
				defer plain.Close()
				tc.mark(fake)
				if _, err := f.Open(ctx, "/zone/file"); !errors.Is(err, tc.want) {
					t.Errorf("open: %v, want %v", err, tc.want)
				}
				if _, err := io.ReadAll(plain); !errors.Is(err, tc.want) {
					t.Errorf("reading what was opened before: %v, want %v", err, tc.want)
				}
				if err := f.WriteFile(ctx, "/zone/new", pattern(10), 0o600); !errors.Is(err, tc.want) {
					t.Errorf("write: %v, want %v", err, tc.want)
				}
				if info, err := f.Stat(ctx, "/zone/file"); err != nil || info.Size != 10 {
					t.Errorf("it is described as %+v, %v", info, err)
				}
				if err := f.Rename(ctx, "/zone/file", "/zone/moved"); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff([]string{"/zone", "/zone/moved"}, fake.Paths()); diff != "" {
					t.Errorf("what is there (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// It would catch an FS that opens connections after Close, and one whose Close hangs.
func TestAClosedFSIsClosed(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10))
		file, err := f.Open(t.Context(), "/file")
		if err != nil {
			t.Fatal(err)
		}
		w, err := f.Create(t.Context(), "/new", filesystem.ExistingParents)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(pattern(200 << 10)); err != nil { // into its second block
			t.Fatal(err)
		}
		cluster, _, err := f.resolve("/")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		_, stat := f.Stat(t.Context(), "/file")
		_, late := cluster.stat(t.Context(), "/file") // a call that passed FS before Close
		_, read := file.Read(make([]byte, 1))
		for name, err := range map[string]error{"stat": stat, "late stat": late, "read": read, "close of a new file": w.Close()} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v, want %v", name, err, ErrClosed)
			}
		}
	})
}

// It would catch a process that waits forever for a NameNode which accepts calls and does not
// answer, and an error that does not name it.
func TestASilentNameNodeIsGivenUp(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.Delay("getFileInfo", time.Hour)
		began := time.Now()
		_, err := f.Stat(t.Context(), "/")
		if !errors.Is(err, yarnrpc.ErrTimeout) || time.Since(began) > 2*testPatience {
			t.Errorf("stat: %v, after %v", err, time.Since(began))
		}
		if _, err := f.Stat(t.Context(), "/"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// It would catch an FS that dials forever where no server listens.
func TestANameNodeThatIsAwayIsTriedAsLongAsPatienceLasts(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.StopNameNode(0)
		began := time.Now()
		_, err := f.Stat(t.Context(), "/")
		if waited := time.Since(began); !errors.Is(err, syscall.ECONNREFUSED) || waited < testPatience/2 || waited > testPatience {
			t.Errorf("stat: %v, after %v", err, waited)
		}
		if tries := len(fake.Calls("getFileInfo")); tries != 0 {
			t.Errorf("%d calls have reached a NameNode that is away", tries)
		}
	})
}
