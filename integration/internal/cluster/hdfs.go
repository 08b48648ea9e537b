package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/user"
	"path"
	"strconv"
)

// HDFS calls the NameNode's WebHDFS API, an independent way to see the file system beside the code under test. It acts
// as the superuser: the user who started the cluster, or on a secure cluster the NameNode's own principal.
type HDFS struct {
	http webClient
	base string
	user string
}

// FileStatus is a file or directory, with WebHDFS's names.
type FileStatus struct {
	Name        string `json:"pathSuffix"`
	Type        string `json:"type"` // FILE, DIRECTORY, SYMLINK
	Length      int64  `json:"length"`
	Owner       string `json:"owner"`
	Permission  string `json:"permission"` // octal
	BlockSize   int64  `json:"blockSize"`
	Replication int    `json:"replication"`
}

// HDFS returns the WebHDFS API.
func (c *Cluster) HDFS() (HDFS, error) { return c.webHDFS(c.NameNodeWebAddress()) }

// webHDFS returns the API of the NameNode with this web address.
func (c *Cluster) webHDFS(address string) (HDFS, error) {
	h := HDFS{http: c.http, base: "http://" + address + "/webhdfs/v1"}
	if c.Secure() {
		h.http.authenticate, h.user = c.negotiate, "nn"
		return h, nil
	}
	u, err := user.Current()
	if err != nil {
		return HDFS{}, err
	}
	h.user = u.Username
	return h, nil
}

// List returns the entries of a directory, or one entry for a file. If the path does not exist, the error is a
// *ErrHTTPStatus with status 404.
func (h HDFS) List(ctx context.Context, dir string) ([]FileStatus, error) {
	var answer struct {
		FileStatuses struct{ FileStatus []FileStatus }
	}
	err := h.http.getJSON(ctx, h.url(dir, "LISTSTATUS", nil), &answer)
	return answer.FileStatuses.FileStatus, err
}

// Mkdir makes a directory and its parents, and sets the owner and the octal permission of the directory.
func (h HDFS) Mkdir(ctx context.Context, dir, owner, permission string) error {
	for _, call := range []struct {
		op   string
		args url.Values
	}{
		{"MKDIRS", nil},
		{"SETPERMISSION", url.Values{"permission": {permission}}}, // MKDIRS would apply the umask to it
		{"SETOWNER", url.Values{"owner": {owner}}},
	} {
		if _, err := h.http.do(ctx, http.MethodPut, h.url(dir, call.op, call.args)); err != nil {
			return fmt.Errorf("make hdfs directory %s: %w", dir, err)
		}
	}
	return nil
}

// ModifyACL adds entries to a file's or directory's ACL, such as user:bob:rwx, with a mask that allows them.
func (h HDFS) ModifyACL(ctx context.Context, file, entries string) error {
	if _, err := h.http.do(ctx, http.MethodPut, h.url(file, "MODIFYACLENTRIES", url.Values{"aclspec": {entries}})); err != nil {
		return fmt.Errorf("modify acl of %s: %w", file, err)
	}
	return nil
}

// RemoveACL removes an ACL.
func (h HDFS) RemoveACL(ctx context.Context, file string) error {
	if _, err := h.http.do(ctx, http.MethodPut, h.url(file, "REMOVEACL", nil)); err != nil {
		return fmt.Errorf("remove acl of %s: %w", file, err)
	}
	return nil
}

// SetQuota sets the quotas of a directory: the number of names, itself included, and the bytes of all replicas. 0 does
// not change a quota.
func (h HDFS) SetQuota(ctx context.Context, dir string, names, bytes int64) error {
	quotas := make(url.Values)
	if names > 0 {
		quotas.Set("namespacequota", strconv.FormatInt(names, 10))
	}
	if bytes > 0 {
		quotas.Set("storagespacequota", strconv.FormatInt(bytes, 10))
	}
	if _, err := h.http.do(ctx, http.MethodPut, h.url(dir, "SETQUOTA", quotas)); err != nil {
		return fmt.Errorf("set quota of %s: %w", dir, err)
	}
	return nil
}

// Space returns the bytes of all replicas below a directory. Of a block that is being written it counts what is there,
// while the quota counts the whole block.
func (h HDFS) Space(ctx context.Context, dir string) (int64, error) {
	var answer struct {
		ContentSummary struct {
			SpaceConsumed int64 `json:"spaceConsumed"`
		}
	}
	err := h.http.getJSON(ctx, h.url(dir, "GETCONTENTSUMMARY", nil), &answer)
	return answer.ContentSummary.SpaceConsumed, err
}

func (h HDFS) url(file, op string, args url.Values) string {
	query := url.Values{"op": {op}, "user.name": {h.user}}
	maps.Copy(query, args)
	return h.base + (&url.URL{Path: path.Clean("/" + file)}).EscapedPath() + "?" + query.Encode()
}

// makeFiles makes the directories that an administrator makes on a new file system.
func (c *Cluster) makeFiles(ctx context.Context, users []string) error {
	h, err := c.HDFS()
	if err == nil {
		err = h.makeHomes(ctx, users)
	}
	if err == nil && c.spec.Zone {
		err = c.makeZone(ctx, h)
	}
	if err != nil || !c.spec.OtherHDFS {
		return err
	}
	if h, err = c.OtherHDFS(); err == nil {
		err = h.makeHomes(ctx, users)
	}
	return err
}

// Remove removes a file, or a directory with all its content. It is no error if the path does not exist.
func (h HDFS) Remove(ctx context.Context, path string) error {
	if _, err := h.http.do(ctx, http.MethodDelete, h.url(path, "DELETE", url.Values{"recursive": {"true"}})); err != nil {
		return fmt.Errorf("remove hdfs path %s: %w", path, err)
	}
	return nil
}

// makeHomes makes the common directories and the home of each user.
func (h HDFS) makeHomes(ctx context.Context, users []string) error {
	if err := h.Mkdir(ctx, "/tmp", h.user, "1777"); err != nil {
		return err
	}
	for _, name := range append([]string{h.user}, users...) {
		if err := h.Mkdir(ctx, "/user/"+name, name, "755"); err != nil {
			return err
		}
	}
	return nil
}
