package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// The files in the ApplicationMaster's working directory: this program, and its Job.
const (
	program = "distributedshell"
	jobFile = "job.json"
)

// submit runs a job on the cluster that the environment names, and follows it to its end. If following fails or ctx ends,
// submit kills the application.
func submit(ctx context.Context, job Job, queue string) (err error) {
	dir, err := hadoopconf.Find(os.Getenv)
	if err != nil {
		return err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		return err
	}
	if job.Hadoop, err = conf.Marshal(); err != nil {
		return err
	}
	user, login, err := logIn(conf)
	if err != nil {
		return err
	}
	toRM, err := yarnclient.FromConf(conf, user)
	if err != nil {
		return err
	}
	toRM.RPC.Login = login
	toRM.Policy = yarnclient.DefaultPolicy() // retries for 30 s, and not for Hadoop's 15 minutes
	yarn := yarnclient.New(toRM)
	defer yarn.Close()
	created, err := yarn.NewApplication(ctx)
	if err != nil {
		return err
	}
	files, err := connect(conf, user, login)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	what, err := json.Marshal(job)
	if err != nil {
		return err
	}
	uploaded, err := files.upload(ctx, created.ID.String(), what)
	if err != nil {
		return err
	}
	tokens, err := files.tokens(ctx)
	if err != nil {
		return err
	}
	report, err := yarn.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: "distributedshell", Queue: queue,
		Resource: records.Resource{MemoryMB: 128, VCores: 1},
		Container: records.ContainerLaunchContext{
			LocalResources: uploaded,
			Environment:    map[string]string{jobVariable: jobFile},
			Commands:       []string{"./" + program + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
			Tokens:         tokens.Marshal(),
		},
	})
	if err == nil {
		report, err = follow(ctx, yarn, report)
	}
	if err != nil { // the deferred call is about to remove the application's files
		return errors.Join(err, kill(ctx, yarn, created.ID))
	}
	if report.FinalStatus != records.FinalSucceeded {
		return fmt.Errorf("%s %s: %s", report.ID, report.State, report.Diagnostics)
	}
	fmt.Println(visible(report.Diagnostics))
	return nil
}

// kill ends an application whose client ends. It is no error if YARN does not know the application: the submission may
// have failed.
func kill(ctx context.Context, yarn *yarnclient.Client, id records.ApplicationID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err := yarn.Kill(ctx, id, "its client has ended")
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		return nil
	}
	return err
}

// follow prints each state and every step of progress until the application has ended.
func follow(ctx context.Context, yarn *yarnclient.Client, report records.ApplicationReport) (records.ApplicationReport, error) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for line := ""; ; {
		if now := fmt.Sprintf("%s %s %.0f%%", report.ID, report.State, 100*report.Progress); now != line {
			line = now
			fmt.Println(line)
		}
		if report.State.Terminal() {
			return report, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return report, fmt.Errorf("%s was interrupted", report.ID)
		}
		next, err := yarn.ApplicationReport(ctx, report.ID)
		switch {
		case err == nil:
			report = next
		case ctx.Err() == nil:
			return report, err
		}
	}
}

// logIn returns the name of the user on the cluster. On a cluster with Kerberos it comes from the ticket of kinit,
// otherwise from the environment.
func logIn(conf *hadoopconf.Conf) (user string, login yarnrpc.Login, err error) {
	if !conf.SecurityEnabled() {
		return cmp.Or(os.Getenv("HADOOP_USER_NAME"), os.Getenv("USER")), nil, nil
	}
	ticket, err := kerberos.FromEnvironment(os.Getenv)
	if err != nil {
		return "", nil, err
	}
	names, err := conf.ShortNames(ticket.DefaultRealm())
	if err != nil {
		return "", nil, err
	}
	user, err = names.Short(ticket.Principal().String())
	return user, ticket, err
}
