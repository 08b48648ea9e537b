// Shell runs a command in a container of a YARN cluster and ends with its exit code.
//
//	shell COMMAND
//
// This process is itself the ApplicationMaster. YARN calls this an unmanaged
// ApplicationMaster. So the program uploads no file. But this machine must reach the
// cluster's nodes, and the application ends with this process. Clusters with Kerberos do
// not allow this; see distributedshell.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shell COMMAND")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ended, err := run(ctx, os.Args[1])
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "shell:", visible(err.Error()))
		os.Exit(1)
	case ended.ExitStatus < 0: // YARN ended it, not the command
		fmt.Fprintf(os.Stderr, "shell: %s: %s\n%s\n", ended.ID, ended.ExitStatus.Reason(), visible(ended.Diagnostics))
		os.Exit(1)
	}
	os.Exit(int(ended.ExitStatus))
}

// visible replaces control characters and characters that change the direction of text. YARN's diagnostics contain the
// last output of the command, and the terminal would obey such characters.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// run submits an application, acts as its ApplicationMaster, and returns the status of its one container.
func run(ctx context.Context, command string) (records.ContainerStatus, error) {
	var none records.ContainerStatus
	dir, err := hadoopconf.Find(os.Getenv)
	if err != nil {
		return none, err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		return none, err
	}
	if conf.SecurityEnabled() {
		return none, errors.New("this cluster has Kerberos, where the ResourceManager sends no token for an unmanaged ApplicationMaster: use distributedshell")
	}
	o, err := yarnclient.FromConf(conf, cmp.Or(os.Getenv("HADOOP_USER_NAME"), os.Getenv("USER")))
	if err != nil {
		return none, err
	}
	o.Policy = yarnclient.DefaultPolicy() // retries for 30 s, and not for Hadoop's 15 minutes
	yarn := yarnclient.New(o)
	defer yarn.Close()
	created, err := yarn.NewApplication(ctx)
	if err != nil {
		return none, err
	}
	application, err := submit(ctx, yarn, created.ID)
	if err != nil {
		return none, errors.Join(err, kill(ctx, yarn, created.ID))
	}
	ended, err := lead(ctx, conf, application, command)
	if err != nil { // without the kill, YARN would notice only after minutes that the master has ended
		err = errors.Join(err, kill(ctx, yarn, created.ID))
	}
	return ended, err
}

// kill ends an application whose master has failed. It is no error if YARN does not know the application: the
// submission may have failed.
func kill(ctx context.Context, yarn *yarnclient.Client, id records.ApplicationID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err := yarn.Kill(ctx, id, "its ApplicationMaster, shell, has ended")
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		return nil
	}
	return err
}

// submit submits the application, and returns its report when YARN waits for its master.
func submit(ctx context.Context, yarn *yarnclient.Client, id records.ApplicationID) (records.ApplicationReport, error) {
	report, err := yarn.Submit(ctx, records.SubmissionContext{
		ID: id, Name: "shell", Queue: "default", Unmanaged: true,
		Resource: records.Resource{MemoryMB: 128, VCores: 1}, // of the master, which uses none of it; the queue's limits count it
	})
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for err == nil && report.AMRMToken == nil {
		if report.State.Terminal() {
			return report, fmt.Errorf("%s %s: %s", report.ID, report.State, report.Diagnostics)
		}
		select {
		case <-ticker.C:
			report, err = yarn.ApplicationReport(ctx, id)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return report, err
}

// lead runs the command in a container, as the ApplicationMaster.
func lead(ctx context.Context, conf *hadoopconf.Conf, application records.ApplicationReport, command string) (ended records.ContainerStatus, err error) {
	toRM, err := amrm.FromConf(conf)
	if err != nil {
		return ended, err
	}
	toNM, err := nmclient.FromConf(conf)
	if err != nil {
		return ended, err
	}
	toRM.Attempt, toRM.Token = application.Attempt, application.AMRMToken
	rm, nm := amrm.New(toRM), nmclient.New(toNM)
	defer rm.Close()
	defer nm.Close()
	if _, err := rm.Register(ctx, amrm.RegisterRequest{RPCPort: -1}); err != nil {
		return ended, err
	}
	rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 1})
	for response, err := range rm.Heartbeats(ctx, amrm.Pace{}) {
		if err != nil {
			return ended, err
		}
		nm.SetTokens(response.NMTokens)
		for _, c := range response.Allocated {
			fmt.Fprintf(os.Stderr, "shell: %s runs in %s on %s\n", application.ID, c.ID, c.Node.Host)
			err := nm.Start(ctx, c, records.ContainerLaunchContext{
				Commands: []string{records.Verbatim("("+command+"\n)") + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
			})
			if err != nil {
				return ended, err
			}
		}
		if len(response.Completed) > 0 {
			ended = response.Completed[0]
			break
		}
	}
	result := records.FinalSucceeded
	if ended.ExitStatus != records.ExitSuccess {
		result = records.FinalFailed
	}
	return ended, rm.Finish(ctx, result, ended.ExitStatus.Reason(), "")
}
