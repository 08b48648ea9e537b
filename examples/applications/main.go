// Applications lists the applications of a YARN cluster, the newest first.
//
//	applications [-states RUNNING,ACCEPTED] [-queue QUEUE] [-user USER]
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func main() {
	states := flag.String("states", "", "list only applications in these `states`, such as RUNNING,ACCEPTED")
	queue := flag.String("queue", "", "list only applications in this `queue`")
	user := flag.String("user", "", "list only applications of this `user`")
	flag.Parse()
	var wanted yarnclient.Filter
	for _, state := range list(*states) {
		wanted.States = append(wanted.States, records.ApplicationState(strings.ToUpper(state)))
	}
	wanted.Queues, wanted.Users = list(*queue), list(*user)
	if err := run(wanted); err != nil {
		fmt.Fprintln(os.Stderr, "applications:", visible(err.Error()))
		os.Exit(1)
	}
}

func list(flag string) []string {
	return strings.FieldsFunc(flag, func(r rune) bool { return r == ',' })
}

func run(wanted yarnclient.Filter) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	yarn, err := connect()
	if err != nil {
		return err
	}
	defer yarn.Close()
	applications, err := yarn.Applications(ctx, wanted)
	if err != nil {
		return err
	}
	return write(os.Stdout, applications)
}

// connect opens the cluster and takes the user that the environment names. On a cluster
// with Kerberos it logs in with the ticket of kinit.
func connect() (*yarnclient.Client, error) {
	dir, err := hadoopconf.Find(os.Getenv)
	if err != nil {
		return nil, err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		return nil, err
	}
	o, err := yarnclient.FromConf(conf, cmp.Or(os.Getenv("HADOOP_USER_NAME"), os.Getenv("USER")))
	if err != nil {
		return nil, err
	}
	o.Policy = yarnclient.DefaultPolicy() // retries for 30 s, and not for Hadoop's 15 minutes
	if conf.SecurityEnabled() {
		if o.RPC.Login, err = kerberos.FromEnvironment(os.Getenv); err != nil {
			return nil, err
		}
	}
	return yarnclient.New(o), nil
}

func write(out io.Writer, applications []records.ApplicationReport) error {
	slices.SortFunc(applications, func(a, b records.ApplicationReport) int { return b.ID.Compare(a.ID) })
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "APPLICATION\tNAME\tUSER\tQUEUE\tSTARTED\tSTATE\tRESULT")
	for _, a := range applications {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, visible(a.Name), visible(a.User), visible(a.Queue), a.Started.Format(time.DateTime), a.State, a.FinalStatus)
	}
	return table.Flush()
}

// visible replaces control characters and characters that change the direction of text. A user may put them into the
// name of an application, and the terminal would obey them.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
