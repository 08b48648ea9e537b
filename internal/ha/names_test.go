package ha

import (
	"net"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// FuzzNames reads names of entries. It would catch two names for one thing, such as live-1 and live-01, of which a leader
// would take the wrong one; a name that is not read again as it was made; and one that HDFS does not accept.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"live-0", "live-12", "live-01", "live--1", "live-+1", "live-", "live-99999999999999999999", "ended-3", "ended-live-3", "staged.json",
		"am-1-host-39001", "am-2-node-1.example.org-1", "am-3-2001%3Adb8%3A%3A1-65535", "am-3-%3a-1", "am-4-host-0", "am-4-host-65536", "am-4-host-01",
		"am-05-host-1", "am-5--1", "am-5-host", "am-", "am-6-%41-1", "am-6-%-1", "am-7-a%2Fb-1", "am-8-..-1",
		"0123456789abcdef0123456789abcdef.FINISHED", "a.CANCELED", "a.RUNNING", "a.FINISHED.FAILED", ".FINISHED", "a", "a.", ".hidden",
		"commit-0", "commit-17", "commit-017", "commit--1", "commit-", "committed-0", "committed-05", "committed-", "cancelled",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if p, is := parsePlace(name); is && (p.String() != name || p.epoch < 0) {
			t.Errorf("%q is read as %v", name, p)
		}
		if region, finished, is := parseCommitName(name); is && map[bool]string{false: commitName(region), true: committedName(region)}[finished] != name {
			t.Errorf("%q is read as %d, finished: %t", name, region, finished)
		}
		if e, is := parseResultName(name); is && (resultName(e.ID, e.Status) != name || checkResult(e.ID, e.Status) != nil) {
			t.Errorf("%q is read as %+v", name, e)
		}
		if plainJob(ids.JobID(name)) {
			for _, status := range statuses {
				if e, is := parseResultName(resultName(ids.JobID(name), status)); !is || e.ID != ids.JobID(name) || e.Status != status {
					t.Errorf("the result of %q is read as %+v, %t", name, e, is)
				}
			}
		}
		leader, is := parseAddressName(name)
		if !is {
			return
		}
		again, err := addressName(leader.Epoch, leader.Address)
		if err != nil && len(name) <= maxName || err == nil && again != name {
			t.Errorf("%q is read as %+v, which is %q, %v", name, leader, again, err)
		}
		if _, _, err := net.SplitHostPort(leader.Address); err != nil {
			t.Errorf("%q is read as %q: %v", name, leader.Address, err)
		}
	})
}

// FuzzAddresses publishes addresses. It would catch a host whose name another process reads as another host's, or that
// is no name in HDFS.
func FuzzAddresses(f *testing.F) {
	for _, host := range []string{"node-1", "10.0.0.1", "2001:db8::1", "fe80::1%eth0", "a_b", "A.example.org", "%3A", "ä", "a/b", "a b", ".", "..", "", "-", "a:b", "\x00"} {
		f.Add(host, "39001")
	}
	f.Fuzz(func(t *testing.T, host, port string) {
		address := net.JoinHostPort(host, port)
		name, err := addressName(3, address)
		if err != nil {
			return
		}
		if len(name) > maxName || strings.ContainsAny(name, ":/\x00") || strings.HasPrefix(name, ".") {
			t.Errorf("%q has the name %q", address, name)
		}
		if got, is := parseAddressName(name); !is || got != (Leader{3, address}) {
			t.Errorf("%q is read as %+v, %t", address, got, is)
		}
	})
}

// The test would catch a state of a job that ends it and has no result.
func TestEachEndOfAJobHasAResult(t *testing.T) {
	t.Parallel()
	for _, status := range []msg.JobStatus{
		msg.JobInitializing, msg.JobCreated, msg.JobRunning, msg.JobFailing, msg.JobFailed, msg.JobCancelling, msg.JobCanceled, msg.JobFinished,
		msg.JobRestarting, msg.JobSuspended,
	} {
		is := false
		for _, s := range statuses {
			is = is || s == status
		}
		if is != status.GloballyTerminal() {
			t.Errorf("%s: it has a result: %t", status, is)
		}
	}
}
