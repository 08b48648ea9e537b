package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func gcCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "gc",
		Usage: "remove staged files that no application needs",
		Description: "Removes the staged files of applications that have ended, or that YARN has forgotten. The\n" +
			"command also removes cached files that no application uses, the oldest first, until the\n" +
			"others fit into staging.cache.max-size. It keeps files that are younger than\n" +
			"staging.gc.min-age.\n\n  bobbin gc\n  bobbin gc --dry-run -D staging.cache.max-size=200m",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "print the files without removing them"},
			outputFlag(),
		}, clusterFlags()...),
		Action: bind(withYARN(collectGarbage)),
	}
}

func collectGarbage(ctx context.Context, c *call, cluster *client.Cluster, cfg config.Config) error {
	removed, err := cluster.Collect(ctx, cfg, c.line.Bool("dry-run"))
	type entry struct {
		URI   string `json:"uri"`
		Bytes int64  `json:"bytes"`
		Time  int64  `json:"written"` // ms since 1970
	}
	list, sum := make([]entry, len(removed)), int64(0)
	for i, r := range removed {
		list[i] = entry{r.URI, r.Bytes, r.Time.UnixMilli()}
		sum += r.Bytes
	}
	if c.json {
		object := map[string]any{"removed": list, "bytes": sum, "dryRun": c.line.Bool("dry-run")}
		if err != nil {
			object["error"] = err.Error()
		}
		return errors.Join(err, c.encode(object))
	}
	verb := "removed"
	if c.line.Bool("dry-run") {
		verb = "would remove"
	}
	for _, e := range list {
		fmt.Fprintf(c.Out, "%s %s (%s)\n", verb, e.URI, progress.Size(e.Bytes))
	}
	fmt.Fprintf(c.Out, "%s %d, %s\n", verb, len(list), progress.Size(sum))
	return err
}
