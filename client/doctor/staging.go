package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// files is what checkStaging needs of a dfs.FS.
type files interface {
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error
	WriteFile(ctx context.Context, uri string, content []byte, mode fs.FileMode) error
	ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error)
	RemoveAll(ctx context.Context, uri string) error
}

// checkStaging writes a file to the place of a submission, reads it and removes it.
func (v *visit) checkStaging(ctx context.Context) []Finding {
	fsys := v.fileSystem()
	defer fsys.Close()
	home, err := client.StagingHome(fsys, v.conf, v.config.String(config.YarnStagingDirectory))
	if err != nil {
		return []Finding{failed(oneLine(err), v.remedy(err))}
	}
	ctx, cancel := context.WithTimeout(ctx, v.config.Duration(config.ClientTimeout)) // of a few calls
	defer cancel()
	findings := v.tryStaging(ctx, fsys, home)
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Failed }) || !config.HighAvailability(v.config) {
		return findings
	}
	return append(findings, v.tryStorage(ctx, fsys, home))
}

// tryStorage tells whether the file system can hold what outlives an ApplicationMaster.
func (v *visit) tryStorage(ctx context.Context, fsys *dfs.FS, home string) Finding {
	remedy := fmt.Sprintf("name a directory on HDFS that is neither encrypted nor erasure coded (%s), or set %s to %s",
		config.HighAvailabilityStorageDir, config.HighAvailabilityType, config.HighAvailabilityNone)
	named, err := client.StorageDir(fsys, v.config.String(config.HighAvailabilityStorageDir))
	if err != nil {
		return failed(oneLine(err), remedy)
	}
	dir := cmp.Or(named, home)
	if !strings.HasPrefix(dir, "hdfs://") {
		return failed("jobs and results cannot be kept in "+dir+", which is not on HDFS", remedy)
	}
	where, err := nearest(ctx, fsys, dir)
	if err != nil {
		return failed("look for "+dir+": "+cause(err), v.remedy(err))
	}
	if where == named { // a submission makes it otherwise
		if err := client.CheckStorageDir(ctx, fsys, named); errors.Is(err, staging.ErrExposed) {
			return failed(oneLine(err), fmt.Sprintf("forbid that, or name another directory (%s)", config.HighAvailabilityStorageDir))
		}
	}
	trial := strings.TrimSuffix(where, "/") + "/.bobbin-doctor-" + rand.Text()
	err = fsys.MkdirMode(ctx, trial, 0o700)
	if err == nil {
		err = ha.CheckStorage(ctx, fsys, trial, ids.Source{})
		err = errors.Join(err, v.removeTrial(ctx, fsys, trial))
	}
	switch {
	case errors.Is(err, ha.ErrStorage):
		return failed(oneLine(err), remedy)
	case errors.Is(err, fs.ErrPermission):
		return failed(fmt.Sprintf("user %s may not write to %s", v.who.User, where),
			fmt.Sprintf("ask for the right, or name another directory (%s)", config.HighAvailabilityStorageDir))
	case err != nil:
		return failed("keep jobs and results in "+dir+": "+cause(err), v.remedy(err))
	}
	return ok("jobs and results can be kept in " + dir)
}

// removeTrial removes a directory of the doctor, also if the user has pressed Ctrl-C.
func (v *visit) removeTrial(ctx context.Context, fsys files, trial string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.patience()) // its own time: the other may be over
	defer cancel()
	return fsys.RemoveAll(ctx, trial)
}

func (v *visit) tryStaging(ctx context.Context, fsys files, home string) []Finding {
	where, err := nearest(ctx, fsys, home)
	if err != nil {
		return []Finding{failed("look for "+home+": "+cause(err), v.remedy(err))}
	}
	trial := strings.TrimSuffix(where, "/") + "/.bobbin-doctor-" + rand.Text()
	err = fsys.MkdirMode(ctx, trial, 0o700)
	if errors.Is(err, fs.ErrPermission) && where != home {
		return []Finding{failed(fmt.Sprintf("%s does not exist, and user %s may not create it", home, v.who.User),
			fmt.Sprintf("ask HDFS's administrator to create it: hdfs dfs -mkdir -p %[1]s; hdfs dfs -chown %[2]s %[1]s", pathOf(home), v.who.User))}
	}
	if errors.Is(err, fs.ErrPermission) {
		return []Finding{failed(fmt.Sprintf("user %s may not write to %s", v.who.User, home),
			fmt.Sprintf("ask for its ownership (hdfs dfs -chown %s %s), or name another directory (%s)", v.who.User, pathOf(home), config.YarnStagingDirectory))}
	}
	if err != nil {
		return []Finding{failed("create a directory in "+where+": "+cause(err), v.remedy(err))}
	}
	findings := v.tryFile(ctx, fsys, where, trial)
	if err := v.removeTrial(ctx, fsys, trial); err != nil {
		findings = append(findings, warning("the test directory cannot be removed: "+cause(err), "hdfs dfs -rm -r "+pathOf(trial)))
	}
	if where != home {
		findings = append(findings, ok(home+" does not exist yet; the first submission can create it"))
	}
	return findings
}

// tryFile writes and reads a file, whose content is on DataNodes.
func (v *visit) tryFile(ctx context.Context, fsys files, where, dir string) []Finding {
	content := []byte("written by bobbin doctor; it may be removed\n")
	file := dir + "/trial"
	began := v.Now()
	err := fsys.WriteFile(ctx, file, content, 0o600)
	if err != nil {
		return []Finding{failed("write a file in "+where+": "+cause(err), v.remedyAtDataNodes(err, "check that DataNodes run and have room, and that the firewall allows their addresses"))}
	}
	got, err := fsys.ReadFile(ctx, file, int64(len(content)))
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("the content differs from what was written")
	}
	if err != nil {
		return []Finding{failed("read a file in "+where+": "+cause(err), v.remedyAtDataNodes(err, "check that the firewall allows the DataNodes' addresses"))}
	}
	findings := []Finding{ok("a file was written in " + where + ", and read")}
	if info, err := fsys.Stat(ctx, file); err == nil {
		findings = append(findings, judgeFileClock(info.ModTime, began, v.Now())...)
	}
	return findings
}

// remedyAtDataNodes is the remedy for an error of a file's content. A failed login is then one at a DataNode;
// v.remedy is for servers of calls.
func (v *visit) remedyAtDataNodes(err error, otherwise string) string {
	switch {
	case errors.Is(err, sasl.ErrProtection), errors.Is(err, hdfs.ErrOtherProtection):
		return "set dfs.data.transfer.protection in hdfs-site.xml to the DataNodes' value"
	case errors.Is(err, filesystem.ErrEncryptionZone):
		return v.remedy(err)
	default:
		return otherwise
	}
}

// judgeFileClock compares a time from the NameNode with the times of this machine before and after.
func judgeFileClock(given, before, after time.Time) []Finding {
	off := max(before.Sub(given), given.Sub(after))
	if off < drift {
		return nil
	}
	return []Finding{warning("the NameNode's clock and this machine's differ by "+rounded(off),
		"keep both right with NTP: they date tokens and files")}
}

// nearest is dir, or the nearest existing directory above it.
func nearest(ctx context.Context, fsys files, dir string) (string, error) {
	root, at := filesystem.Split(dir)
	for ; ; at = path.Dir(at) {
		uri := root + at
		_, err := fsys.Stat(ctx, uri)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || at == "/" {
			return uri, err
		}
	}
}

// pathOf is the path of a URI, for the command hdfs dfs.
func pathOf(uri string) string {
	_, at := filesystem.Split(uri)
	return at
}
