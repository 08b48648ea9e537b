package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// errUnwell ends a command whose findings have been printed.
var errUnwell = errors.New("a check has failed")

func doctorCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "doctor",
		Usage:       "check what a job needs, before one is submitted",
		Description: doctorDescription,
		Flags:       slices.Concat(flags(doctorFlags()...), []cli.Flag{outputFlag()}, clusterFlags()),
		Action:      bind(examine),
	}
}

func doctorFlags() []optionFlag {
	return []optionFlag{
		{name: "queue", aliases: []string{"qu"}, usage: "YARN `QUEUE` to be used", key: config.YarnApplicationQueue},
		{name: "keytab", usage: "log in with the keys of `FILE`, not with the ticket that kinit got", key: config.KerberosKeytab},
		{name: "principal", usage: "whose keys of the keytab: `NAME`, or NAME@REALM", key: config.KerberosPrincipal},
	}
}

const doctorDescription = `Looks at Bobbin's options, the Hadoop configuration, krb5.conf, ticket, keytab or
tokens, clocks, names, ResourceManagers and NameNodes with the protection in
force, the queue and its limits, the directory on HDFS where files are staged, and
the tokens that a job would get. Each line has a finding; a line with an arrow
has the remedy.

Nothing is submitted. One small file is written on HDFS, and removed again; a
token is obtained, and canceled.

The exit code is 0 when no check has failed, 2 when an option is wrong, and
otherwise 1. docs/doctor.md explains the checks.

  bobbin doctor -qu nightly`

func examine(ctx context.Context, c *call) error {
	err := noArguments(c.line)
	if err != nil {
		return err
	}
	patient := doctor.Patient{
		Getenv:   c.getenv,
		Options:  func() (config.Config, error) { return c.optionsWith(doctorFlags()...) },
		Resolver: net.DefaultResolver, Now: time.Now,
	}
	say := newReport(c.Out, c.getenv)
	if !c.json {
		patient.Begins = say.begins
	}
	var results []doctor.Result
	for result := range doctor.Examine(ctx, patient) {
		results = append(results, result)
		if !c.json {
			say.result(result)
		}
	}
	say.ends()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	status := doctor.Worst(results)
	if c.json {
		err = c.encode(map[string]any{"status": status, "checks": results})
	} else {
		say.summary(results)
	}
	if err == nil && status == doctor.Failed {
		err = run.Printed{Err: unwell(results)}
	}
	return err
}

// unwell is errUnwell, and config.ErrInvalid where options are at fault: no other check is done then.
func unwell(results []doctor.Result) error {
	if results[0].Status == doctor.Failed { // that of the options
		return fmt.Errorf("%w: %w", errUnwell, config.ErrInvalid)
	}
	return errUnwell
}
