package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Errors of the checks before a submission, for errors.Is.
var (
	// ErrResources says that a container would exceed YARN's maximum.
	ErrResources = launch.ErrResources
	// ErrQueue says that a queue does not exist or does not take the application.
	ErrQueue = errors.New("queue cannot be used")
	// errFileSystem says that a file system cannot hold staged files.
	errFileSystem = errors.New("file system is not shared with the cluster")
)

// Refusal is the reason for which a check refuses a submission. Its Kind is one of the errors above.
type Refusal = launch.Refusal

// masterExpiry is how long YARN by default waits at least for a heartbeat of an ApplicationMaster: 10 min
// in Hadoop 3.3, 15 min since 3.4 (yarn-default.xml).
const masterExpiry = 10 * time.Minute

// CheckHeartbeats checks that an ApplicationMaster with these options sends each heartbeat before YARN considers
// it dead. Its error is a *config.Fault, or an error of Hadoop's configuration.
func CheckHeartbeats(c config.Config, conf *hadoopconf.Conf) error {
	const key = "yarn.am.liveness-monitor.expiry-interval-ms"
	expiry, err := conf.Duration(key, time.Millisecond)
	if err != nil {
		return err
	}
	if expiry <= 0 {
		expiry = masterExpiry
	}
	if c.Duration(config.YarnHeartbeatInterval) >= expiry {
		return &config.Fault{
			What:   fmt.Sprintf("option %s: YARN ends an ApplicationMaster that sends no heartbeat for %v (%s)", c.Told(config.YarnHeartbeatInterval), expiry, key),
			Remedy: "set a shorter interval",
		}
	}
	return nil
}

// Queues is what CheckQueue needs of a yarnclient.Client.
type Queues interface {
	QueueInfo(ctx context.Context, name string, detail yarnclient.QueueDetail) (records.QueueInfo, error)
	QueueUserACLs(ctx context.Context) ([]records.QueueUserACL, error)
}

// CheckQueue describes a queue, and checks that a user may submit to it. The name "" is YARN's default. Its
// error is a *Refusal of ErrQueue, or an error of the ResourceManager.
func CheckQueue(ctx context.Context, yarn Queues, user, name string) (records.QueueInfo, error) {
	name = cmp.Or(name, defaultQueue)
	queue, err := yarn.QueueInfo(ctx, name, yarnclient.QueueDetail{Children: true})
	if errors.Is(err, yarnclient.ErrQueueNotFound) {
		return queue, refuseQueue(fmt.Sprintf("%q does not exist", name), "choose another")
	}
	if err != nil {
		return queue, err
	}
	rights, err := yarn.QueueUserACLs(ctx)
	if err != nil {
		return queue, err
	}
	return queue, checkQueue(user, queue, rights)
}

func refuseQueue(what, remedy string) *Refusal {
	return &Refusal{Kind: ErrQueue, What: what, Remedy: fmt.Sprintf("%s (-qu, %s)", remedy, config.YarnApplicationQueue)}
}

// checkQueue decides from what is known of a queue. rights are the user's rights in all queues; a scheduler may
// report none.
func checkQueue(user string, queue records.QueueInfo, rights []records.QueueUserACL) error {
	if queue.State != records.QueueRunning {
		return refuseQueue(fmt.Sprintf("%s is %s", queue.Path, queue.State), "choose another")
	}
	if len(queue.Children) > 0 {
		names := make([]string, len(queue.Children))
		for i, child := range queue.Children {
			names[i] = child.Name
		}
		return refuseQueue(queue.Path+" is not a leaf queue", "choose one of "+strings.Join(names, ", "))
	}
	var open []string // where the user may submit
	refused := false
	for _, r := range rights {
		if slices.Contains(r.ACLs, records.QueueSubmitApplications) || slices.Contains(r.ACLs, records.QueueAdminister) {
			open = append(open, r.Queue)
		} else if r.Queue == queue.Path || r.Queue == queue.Name {
			refused = true
		}
	}
	if refused {
		what := fmt.Sprintf("user %s may not submit to %s", user, queue.Path)
		const ask = "ask for the right (acl_submit_applications)"
		if len(open) == 0 {
			return &Refusal{Kind: ErrQueue, What: what, Remedy: ask}
		}
		refusal := refuseQueue(what, "choose one of "+strings.Join(open, ", "))
		refusal.Remedy += ", or " + ask
		return refusal
	}
	return nil
}

// homeFiles is what StagingHome needs of a dfs.FS.
type homeFiles interface {
	Home() (string, error)
	Qualify(uri string) (string, error)
}

// StagingHome is the directory that holds a user's staging area: yarn.staging-directory, or the user's home.
// Its error is a *Refusal of errFileSystem if other machines cannot see the directory.
func StagingHome(files homeFiles, conf *hadoopconf.Conf, configured string) (string, error) {
	refused := &Refusal{Kind: errFileSystem}
	var home string
	var err error
	if configured == "" {
		home, err = files.Home()
		refused.What = fmt.Sprintf("fs.defaultFS is %s (%s)", conf.Get("fs.defaultFS"), conf.SourceOf("fs.defaultFS"))
		refused.Remedy = fmt.Sprintf("set it to the cluster's HDFS, or name a directory there (%s)", config.YarnStagingDirectory)
	} else {
		home, err = files.Qualify(configured)
		refused.What = fmt.Sprintf("%s is %s", config.YarnStagingDirectory, configured)
		refused.Remedy = "name a directory on the cluster's HDFS"
	}
	if err == nil && strings.HasPrefix(home, "file:") {
		return home, refused
	}
	return home, err
}
