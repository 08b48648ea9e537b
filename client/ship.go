package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// errShip says that containers cannot get a file as options ask. The text names the file, the option and the
// remedy.
var errShip = errors.New("cannot be shipped")

// maxShipped bounds the number of files that a container localizes: each file slows its start, and an archive
// can contain all of them.
const maxShipped = 2000

// shipment is what containers localize beside our binary and the program.
type shipment struct {
	remote []launch.Shipped // already on HDFS
	local  []parcel         // to be staged
	// bobbin is our binary if it is already on HDFS: the file of yarn.flink-dist-jar, or a provided file with
	// the same content. It is nil if it must be staged.
	bobbin *launch.Resource
	links  map[string]string     // the origin of each link
	dirs   map[string]bool       // directories that contain links
	known  map[string]dfs.Status // of files and directories on HDFS, by URI
}

// parcel is a local file to ship; its Resource is not known yet.
type parcel struct {
	launch.Shipped
	file staging.File
}

// files are the files to stage.
func (s *shipment) files() []staging.File {
	files := make([]staging.File, len(s.local))
	for i, p := range s.local {
		files[i] = p.file
	}
	return files
}

// shipped is the whole shipment. staged are the files of files() after staging, in the same order.
func (s *shipment) shipped(staged []launch.Resource) []launch.Shipped {
	all := slices.Clone(s.remote)
	for i, p := range s.local {
		p.Resource = staged[i]
		all = append(all, p.Shipped)
	}
	return all
}

// shipFiles is what readShipment needs of a dfs.FS.
type shipFiles interface {
	Qualify(uri string) (string, error)
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	List(ctx context.Context, dir string) ([]filesystem.FileInfo, error)
	Open(ctx context.Context, uri string) (filesystem.File, error)
	Status(ctx context.Context, uri string) (dfs.Status, error)
}

// manifest has the options about files for containers, beside our binary and the program.
type manifest struct {
	provided []string // yarn.provided.lib.dirs
	usrlib   string   // yarn.provided.usrlib.dir; "": none
	bobbin   string   // URI of yarn.flink-dist-jar; "": it is not on HDFS
	files    []string // yarn.ship-files
	archives []string // yarn.ship-archives
	keytab   string   // link of the ApplicationMaster's keytab
}

func manifestOf(c config.Config, bobbin string) manifest {
	return manifest{
		provided: listed(c, config.YarnProvidedLibDirs), usrlib: c.String(config.YarnProvidedUsrlib), bobbin: bobbin,
		files: listed(c, config.YarnShipFiles), archives: listed(c, config.YarnShipArchives),
		keytab: c.String(config.YarnLocalizedKeytabPath),
	}
}

// remote lists the files that are on HDFS. Containers need tokens for them, too.
func (m manifest) remote() []string {
	uris := slices.Clone(m.provided)
	for _, uri := range []string{m.usrlib, m.bobbin} {
		if uri != "" {
			uris = append(uris, uri)
		}
	}
	for _, name := range slices.Concat(m.files, m.archives) {
		if isRemote(name) {
			uris = append(uris, name)
		}
	}
	return uris
}

// readShipment reads the status of the files of a manifest. own is our binary.
func readShipment(ctx context.Context, files shipFiles, named manifest, own program.Program) (*shipment, error) {
	s := &shipment{dirs: make(map[string]bool), known: make(map[string]dfs.Status), links: map[string]string{
		launch.BobbinLink: "Bobbin's", launch.ProgramLink: "Bobbin's", launch.SiteFile: "Bobbin's", named.keytab: "Bobbin's",
		"launch_container.sh": "YARN's", "container_tokens": "YARN's", "tmp": "YARN's",
	}}
	for _, dir := range named.provided {
		if err := s.provide(ctx, files, dir, own); err != nil {
			return nil, err
		}
	}
	if named.usrlib != "" {
		if err := s.provideUsrlib(ctx, files, named.usrlib); err != nil {
			return nil, err
		}
	}
	if named.bobbin != "" {
		found, err := s.program(ctx, files, named.bobbin)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", config.YarnDistribution, err)
		}
		s.bobbin = &found
	}
	for _, name := range named.files {
		if err := s.add(ctx, files, config.YarnShipFiles, name); err != nil {
			return nil, err
		}
	}
	for _, name := range named.archives {
		if !isArchive(name) {
			return nil, refuseShip(config.YarnShipArchives, name, "YARN would not unpack it: give a .zip, .jar, .tar, .tar.gz or .tgz")
		}
		if err := s.add(ctx, files, config.YarnShipArchives, name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// listed splits a list with semicolons, as in Flink's options.
func listed(c config.Config, key config.StringKey) []string {
	var names []string
	for name := range strings.SplitSeq(c.String(key), ";") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// isRemote tells whether a name is that of a file on the cluster's file systems. Such a name has a scheme; the
// name of a file of this machine has none, or "file". As in Hadoop's Path the host is optional: hdfs:/path is
// on the default file system.
func isRemote(name string) bool {
	scheme, _, found := strings.Cut(name, ":/")
	return found && scheme != "" && scheme != "file" && !strings.ContainsAny(scheme, "/:")
}

func refuseShip(key config.StringKey, name, why string) error {
	return fmt.Errorf("%s (%s) %w: %s", name, key, errShip, why)
}

// isArchive tells whether a NodeManager unpacks a file of this name (FSDownload#unpack).
func isArchive(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{".zip", ".jar", ".tar", ".tar.gz", ".tgz"}, func(end string) bool { return strings.HasSuffix(lower, end) })
}

// put adds what containers find under a link.
func (s *shipment) put(key config.StringKey, p parcel, from string) error {
	link := p.Link
	if strings.ContainsAny(link, "\"$`\\\n") || !fs.ValidPath(link) || link == "." {
		return refuseShip(key, from, fmt.Sprintf("%q cannot be the name of a file in a container: rename it", link))
	}
	for at := link; at != "."; at = path.Dir(at) {
		other, taken := s.links[at]
		if taken || at == link && s.dirs[at] {
			return refuseShip(key, from, fmt.Sprintf("containers already have %q (%s): rename it", at, cmp.Or(other, "a directory")))
		}
		if at != link {
			s.dirs[at] = true
		}
	}
	if len(s.links) >= maxShipped {
		return refuseShip(key, from, fmt.Sprintf("there are more than %d files: pack them (%s)", maxShipped, config.YarnShipArchives))
	}
	s.links[link] = from
	if p.file.Path == "" {
		s.remote = append(s.remote, p.Shipped)
	} else {
		s.local = append(s.local, p)
	}
	return nil
}

func resourceOf(info filesystem.FileInfo) launch.Resource {
	return launch.Resource{URI: info.URI, Size: info.Size, Timestamp: info.ModTime.UnixMilli()}
}

// add adds a file or a directory. A name without scheme is on this machine.
func (s *shipment) add(ctx context.Context, files shipFiles, key config.StringKey, name string) error {
	if !isRemote(name) {
		return s.addLocal(ctx, key, strings.TrimPrefix(name, "file://"))
	}
	uri, err := files.Qualify(name)
	if err != nil {
		return err
	}
	info, err := files.Stat(ctx, uri)
	if err != nil {
		return fmt.Errorf("ship %s (%s): %w", name, key, err)
	}
	if err := s.closed(ctx, files, info.URI); err != nil {
		return fmt.Errorf("ship %s (%s): %w", name, key, err)
	}
	archive := key == config.YarnShipArchives
	base := path.Base(info.URI)
	if !info.IsDir {
		return s.put(key, parcel{Shipped: launch.Shipped{Link: base, Resource: resourceOf(info), Archive: archive}}, info.URI)
	}
	if archive {
		return refuseShip(key, name, "it is a directory")
	}
	return remoteTree(ctx, files, key, name, func(info filesystem.FileInfo, relative string) error {
		for at := relative; at != "."; at = path.Dir(at) {
			if err := s.closed(ctx, files, strings.TrimSuffix(uri, "/")+"/"+at); err != nil {
				return fmt.Errorf("ship %s (%s): %w", name, key, err)
			}
		}
		return s.put(key, parcel{Shipped: launch.Shipped{Link: base + "/" + relative, Resource: resourceOf(info)}}, info.URI)
	})
}

// addLocal adds a file of this machine, or the files of a directory.
func (s *shipment) addLocal(ctx context.Context, key config.StringKey, name string) error {
	archive := key == config.YarnShipArchives
	root, err := filepath.EvalSymlinks(name) // WalkDir does not follow it
	if err != nil {
		return fmt.Errorf("ship %s (%s): %w", name, key, err)
	}
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		var info fs.FileInfo
		if err == nil {
			info, err = os.Stat(file)
		}
		switch {
		case err != nil:
			return fmt.Errorf("ship %s (%s): %w", name, key, err)
		case archive && entry.IsDir():
			return refuseShip(key, name, "it is a directory")
		case entry.IsDir():
			return nil
		case !info.Mode().IsRegular():
			return refuseShip(key, file, "it is a link to a directory, or not a regular file: copy its content")
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		staged, err := localFile(file)
		if err != nil {
			return fmt.Errorf("ship %s (%s): %w", file, key, err)
		}
		link := path.Join(filepath.Base(name), filepath.ToSlash(relative)) // relative is "." for a file alone
		return s.put(key, parcel{Shipped: launch.Shipped{Link: link, Archive: archive}, file: staged}, file)
	})
}

// localFile describes a file of this machine for staging.
func localFile(name string) (staging.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return staging.File{}, err
	}
	defer file.Close() // read only: nothing to lose
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	return staging.File{Path: name, Name: filepath.Base(name), SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size}, err
}

// remoteTree visits the files of a directory on HDFS, with their paths in it.
func remoteTree(ctx context.Context, files shipFiles, key config.StringKey, dir string, visit func(info filesystem.FileInfo, relative string) error) error {
	root, err := files.Qualify(dir)
	if err != nil {
		return err
	}
	directories := []string{""}
	for len(directories) > 0 && len(directories) <= maxShipped {
		inner := directories[0]
		directories = directories[1:]
		entries, err := files.List(ctx, strings.TrimSuffix(root+"/"+inner, "/"))
		if err != nil {
			return fmt.Errorf("ship %s (%s): %w", dir, key, err)
		}
		for _, entry := range entries {
			relative := path.Join(inner, path.Base(entry.URI))
			if entry.IsDir {
				directories = append(directories, relative)
			} else if err := visit(entry, relative); err != nil {
				return err
			}
		}
	}
	if len(directories) > 0 {
		return refuseShip(key, dir, fmt.Sprintf("it has more than %d directories", maxShipped))
	}
	return nil
}
