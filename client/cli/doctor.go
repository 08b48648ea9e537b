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
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// errUnwell ends a command whose findings have been printed.
var errUnwell = errors.New("a check has failed")

func doctorCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "doctor",
		Usage:       "check everything that a job needs, without submitting one",
		Description: doctorDescription,
		Flags:       slices.Concat(flags(doctorFlags()...), []cli.Flag{outputFlag()}, clusterFlags()),
		Action:      bind(examine),
	}
}

func doctorFlags() []optionFlag {
	return []optionFlag{
		{name: "queue", aliases: []string{"qu"}, usage: "YARN `QUEUE` to check", key: config.YarnApplicationQueue},
		{name: "keytab", usage: "log in with the keytab `FILE`, not with the ticket of kinit", key: config.KerberosKeytab},
		{name: "principal", usage: "log in as `NAME` or NAME@REALM, with the keytab", key: config.KerberosPrincipal},
	}
}

const doctorDescription = `Checks Bobbin's options, the Hadoop configuration, krb5.conf, the ticket, keytab or
tokens, clocks and host names, the ResourceManagers and NameNodes and their protection,
the queue and its limits, the staging directory on HDFS, and the tokens that a job would
get. Each line has a finding. A line with an arrow has the remedy.

The command submits nothing. It writes one small file on HDFS and removes it again. It
obtains tokens and cancels them.

The exit code is 0 if no check has failed, 2 if an option is wrong, and otherwise 1.
docs/doctor.md explains the checks.

  bobbin doctor
  bobbin doctor -qu nightly
  bobbin doctor --keytab /etc/security/keytabs/etl.keytab --principal etl`

// doctorOptions are the options that the doctor examines: those of a session.
func (c *call) doctorOptions() (config.Config, error) {
	cfg, err := c.optionsWith(doctorFlags()...)
	if err == nil {
		c.describe(cfg, launch.Session)
	}
	return cfg, err
}

func examine(ctx context.Context, c *call) error {
	err := noArguments(c.line)
	if err != nil {
		return err
	}
	patient := doctor.Patient{
		Getenv:   c.getenv,
		Options:  c.doctorOptions,
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

// unwell is errUnwell. If the options are wrong, it also wraps config.ErrInvalid: no other check runs then.
func unwell(results []doctor.Result) error {
	if results[0].Status == doctor.Failed { // the check of the options
		return fmt.Errorf("%w: %w", errUnwell, config.ErrInvalid)
	}
	return errUnwell
}
