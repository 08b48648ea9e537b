package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// yarn is what checkQueue asks the ResourceManager.
type yarn interface {
	client.Queues
	ClusterMetrics(ctx context.Context) (records.ClusterMetrics, error)
	NewApplication(ctx context.Context) (yarnclient.Application, error)
}

// checkQueue asks whether YARN would accept a job with these options.
func (v *visit) checkQueue(ctx context.Context) []Finding {
	rm, err := v.yarn(v.active, new(yarnrpc.Security))
	if err != nil {
		return []Finding{failed(oneLine(err), v.remedy(err))}
	}
	defer rm.Close()
	findings := []Finding{v.admission(ctx, rm), v.nodes(ctx, rm)}
	return append(findings, v.limits(ctx, rm)...)
}

// admission tells whether the user may submit to the queue.
func (v *visit) admission(ctx context.Context, rm yarn) Finding {
	name := v.config.String(config.YarnApplicationQueue)
	queue, err := client.CheckQueue(ctx, rm, v.who.User, name)
	refusal, refused := errors.AsType[*client.Refusal](err)
	switch {
	case refused && name == "":
		return warning("no queue is named, and "+refusal.What+": YARN must choose a queue by its placement rules", refusal.Remedy)
	case refused:
		return failed(refusal.What, refusal.Remedy)
	case err != nil:
		return failed("the ResourceManager does not describe the queue: "+cause(err), v.remedy(err))
	}
	return ok(fmt.Sprintf("queue %s is %s, and user %s may submit to it; its capacity is %s of its parent queue, its maximum is %s, and %s of its capacity is in use",
		queue.Path, queue.State, v.who.User, percent(queue.Capacity), percent(queue.MaximumCapacity), percent(queue.CurrentCapacity)))
}

// nodes tells whether there are nodes to run on.
func (v *visit) nodes(ctx context.Context, rm yarn) Finding {
	metrics, err := rm.ClusterMetrics(ctx)
	switch {
	case err != nil:
		return failed("the ResourceManager does not report its nodes: "+cause(err), v.remedy(err))
	case metrics.Active == 0:
		return failed("no NodeManager is active: applications would wait", "ask the administrator to run yarn node -list -all")
	}
	return ok(fmt.Sprintf("active NodeManagers: %d", metrics.Active))
}

// limits tells whether YARN grants the containers of the options.
func (v *visit) limits(ctx context.Context, rm yarn) []Finding {
	created, err := rm.NewApplication(ctx) // an unused id costs nothing
	if err != nil {
		return []Finding{failed("the ResourceManager gives no application id: "+cause(err), v.remedy(err))}
	}
	findings := optionFaults(client.CheckHeartbeats(v.config, v.conf))
	place, unplaced := launch.PlaceOf(v.config)
	if unplaced != nil {
		place = launch.WorkerPlace{}
	}
	for _, err := range append(separate(v.containers.Within(created.Maximum, place)), separate(unplaced)...) {
		refusal, is := errors.AsType[*client.Refusal](err)
		if !is {
			refusal = &client.Refusal{What: oneLine(err)}
		}
		findings = append(findings, failed(refusal.What, refusal.Remedy))
	}
	if findings != nil {
		return findings
	}
	findings = []Finding{ok(fmt.Sprintf("YARN grants containers of up to %d MB and %d vcores: those of the options fit", created.Maximum.MemoryMB, created.Maximum.VCores))}
	findings = append(findings, v.attempts())
	switch line, together := client.CheckUber(v.config, place, v.containers, created.Maximum); {
	case together:
		findings = append(findings, ok(line))
	case line != "":
		findings = append(findings, warning(line, "change these options, or set "+config.YarnUber.Name()+" to "+config.UberNever))
	}
	return findings
}

// attempts tells how often YARN starts the ApplicationMaster of an application.
func (v *visit) attempts() Finding {
	a, err := client.AttemptsOf(v.config, v.conf)
	has := config.HighAvailability(v.config)
	switch {
	case err != nil:
		return failed(oneLine(err), "correct it")
	case a.Advice() != "":
		return warning("as far as this machine knows, "+a.Advice(),
			fmt.Sprintf("ask the administrator to raise %s on the ResourceManager, or lower %s", a.By, config.YarnApplicationAttempts))
	case a.Effective() == 1 && has:
		return ok(fmt.Sprintf("YARN starts no second ApplicationMaster (%s)", v.config.Told(config.YarnApplicationAttempts)))
	case a.Effective() == 1:
		return ok(fmt.Sprintf("an application ends with its ApplicationMaster (%s)", v.config.Told(config.HighAvailabilityType)))
	case !has:
		return ok(fmt.Sprintf("YARN starts the ApplicationMaster up to %d times, each time without the jobs of the last one (%s)", a.Effective(), v.config.Told(config.HighAvailabilityType)))
	}
	return ok(fmt.Sprintf("an application outlives its ApplicationMaster: YARN starts it up to %d times%s", a.Effective(), v.window()))
}

// window says which failures of an ApplicationMaster count as attempts.
func (v *visit) window() string {
	if window := config.AttemptFailuresValidity(v.config); window > 0 {
		return fmt.Sprintf(", and failures older than %s do not count", config.FormatDuration(window))
	}
	return ""
}

// separate splits joined errors.
func separate(err error) []error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func percent(share float32) string { return fmt.Sprintf("%.0f%%", 100*share) }
