// Distributedshell runs copies of a shell command on a YARN cluster, each in a
// container of its own, and repeats the copies that fail. It is a complete YARN
// application that needs only package yarnrpc.
//
//	distributedshell [-copies 1] [-retries 2] [-memory 128] [-vcores 1] [-queue default] COMMAND
//
// In each copy SHELL_COPY is its number, from 0. The output is in the containers' logs.
// The exit code is 0 if all copies have ended with 0. If the ApplicationMaster dies, YARN
// starts it again, and it starts all copies again.
//
// If you start the program, it is the client (client.go, files.go): it uploads itself to
// HDFS and submits an application. In the container that YARN starts, it is the
// ApplicationMaster (master.go), which needs only the files that YARN has put there.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Job is the input of the ApplicationMaster.
type Job struct {
	Command string
	Copies  int
	Retries int              // of each copy
	Size    records.Resource // of each copy's container
	Hadoop  []byte           // the cluster's configuration, see hadoopconf.Conf.Marshal

	// tokens are for HDFS, where NodeManagers store the logs of copies. YARN passes them to the master's container.
	tokens []byte
}

// jobVariable is the environment variable that names the ApplicationMaster's file with the
// Job. The configuration is too large for a variable.
const jobVariable = "DISTRIBUTEDSHELL_JOB"

func main() {
	var err error
	if file, isMaster := os.LookupEnv(jobVariable); isMaster {
		err = runMaster(file)
	} else {
		err = runClient(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "distributedshell:", visible(err.Error()))
		os.Exit(1)
	}
}

func runMaster(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var job Job
	if err := json.Unmarshal(text, &job); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	conf, err := hadoopconf.Parse(job.Hadoop)
	if err != nil {
		return err
	}
	given, err := creds.ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		return err
	}
	job.tokens = given.Only(creds.KindHDFSDelegation).Marshal() // only the master needs the other tokens

	return lead(context.Background(), job, conf, os.Getenv) // no signal handler: YARN ends this process
}

func runClient(args []string) error {
	var job Job
	flags := flag.NewFlagSet("distributedshell", flag.ExitOnError)
	flags.IntVar(&job.Copies, "copies", 1, "run this `number` of copies of the command")
	flags.IntVar(&job.Retries, "retries", 2, "repeat a copy that fails up to this `number` of times")
	flags.Int64Var(&job.Size.MemoryMB, "memory", 128, "memory of each copy's container, in `MiB`")
	flags.IntVar(&job.Size.VCores, "vcores", 1, "`number` of virtual cores of each copy's container")
	queue := flags.String("queue", "default", "submit to this `queue`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if job.Command = flags.Arg(0); flags.NArg() != 1 || job.Copies < 1 || job.Retries < 0 {
		return fmt.Errorf("want one command, at least one copy, and retries of 0 or more: see %s -help", flags.Name())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return submit(ctx, job, *queue)
}

// visible replaces control characters and characters that change the direction of text. YARN's diagnostics contain the
// last output of a copy, and the terminal would obey such characters.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
