package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

const aboutLink = `The page that YARN's link shows only looks. This command prints a link to the same page at
the ApplicationMaster itself, where you can cancel jobs and run programs. On a desktop it
also opens the link.

The link works once, within a minute. Then your browser has your rights on the application
for 12 hours, or until the ApplicationMaster ends. Your browser must reach the node of the
ApplicationMaster.`

func openCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "open",
		Usage:       "open the page of an application in a browser, with your rights",
		ArgsUsage:   "[APPLICATION]",
		Description: aboutLink + "\n\n  bobbin open application_1700000000000_0001\n  bobbin open --print application_1700000000000_0001",
		Flags:       openFlags(),
		Action:      bind(openPage),
	}
}

func sessionOpenCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:        "open",
		Usage:       "open the page of a session in a browser, with your rights",
		Description: aboutLink + "\n\n  bobbin session open\n  bobbin session open --print",
		Flags:       openFlags(),
		Action: bind(func(ctx context.Context, c *call) error {
			if err := noArguments(c.line); err != nil {
				return err
			}
			return openPage(ctx, c)
		}),
	}
}

func openFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.BoolFlag{Name: "print", Usage: "only print the link"},
	}, meantFlags(), []cli.Flag{outputFlag()}, clusterFlags())
}

// openPage runs the commands open and session open.
func openPage(ctx context.Context, c *call) (err error) {
	if c.line.Args().Present() {
		id, err := applicationArgument(c.line)
		if err != nil {
			return err
		}
		if c.line.IsSet(flagApplication) || c.line.IsSet(flagMaster) {
			return fmt.Errorf("%w: %s names an application twice: leave out %s, or the flag", ErrUsage, c.line.Command.HelpName, id)
		}
		if err := c.line.Set(flagApplication, id.String()); err != nil {
			return fmt.Errorf("%w: %w", ErrUsage, err)
		}
	}
	master, done, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	link, err := master.Link(ctx)
	if err != nil {
		return master.explain(ctx, err)
	}
	if c.json {
		return c.encode(map[string]any{
			"application": master.Application(), "url": link.URL, "until": link.Until.UnixMilli(), "fingerprint": link.Fingerprint, "site": link.Site,
		})
	}
	// The end of the link is by the clock of the ApplicationMaster, which may differ from this machine's.
	fmt.Fprintf(c.Err, "This link opens the page of %s once, within a minute, with your rights. Keep it secret.\n", master)
	if link.Site != "" {
		fmt.Fprintf(c.Err, "%s (%s).\n", strings.ToUpper(link.Site[:1])+link.Site[1:], config.RESTCertificate)
	}
	if link.Fingerprint != "" {
		fmt.Fprintf(c.Err, "The browser does not know the application's certificate. It is the right one if it has this SHA-256 fingerprint:\n%s\n", colons(link.Fingerprint))
	}
	if _, err := fmt.Fprintln(c.Out, link.URL); err != nil {
		return err
	}
	if c.line.Bool("print") || !terminal.Is(c.Out) {
		return nil
	}
	if err := c.showInBrowser(link.URL); err != nil {
		fmt.Fprintln(c.Err, "No browser was started: open the link yourself.", err)
	}
	return nil
}

// colons is a fingerprint in the form in which browsers show it.
func colons(fingerprint string) string {
	var pairs []string
	for pair := range slices.Chunk([]byte(strings.ToUpper(fingerprint)), 2) {
		pairs = append(pairs, string(pair))
	}
	return strings.Join(pairs, ":")
}
