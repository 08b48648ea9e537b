package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/client"
)

// errNextAttempt says that YARN has started another ApplicationMaster (yarn.application-attempts). It goes on with
// the job. Without high availability it starts the job again, and a session has lost the job.
var errNextAttempt = errors.New("another attempt runs")

// nextAttemptError is an errNextAttempt with the number of the attempt.
type nextAttemptError struct{ number int32 }

func (e nextAttemptError) Error() string { return fmt.Sprintf("attempt %d runs", e.number) }
func (e nextAttemptError) Unwrap() error { return errNextAttempt }

// replaced is the line about another ApplicationMaster. does says what it does.
func replaced(application string, attempt int32, does string) string {
	return fmt.Sprintf("the ApplicationMaster of %s has been replaced: attempt %d %s", application, attempt, does)
}

// replacedBy prints that another ApplicationMaster has replaced the last one, once for all jobs of the command.
func (j *Journal) replacedBy(application string, attempt int32, does string) {
	if attempt > j.successor {
		j.Line("%s", replaced(application, attempt, does))
		j.successor = attempt
	}
}

// next tells whether err is an errNextAttempt, so that the next ApplicationMaster is to be asked about the job.
func (r *runner) next(job *running, err error) bool {
	another, is := errors.AsType[nextAttemptError](err)
	if is {
		r.follows(job, another.number)
	}
	return is
}

// follows notes the ApplicationMaster that runs now, and prints that it has replaced the last one.
func (r *runner) follows(job *running, attempt int32) {
	if attempt <= job.attempt {
		return
	}
	if job.attempt > 0 {
		r.replacedBy(job.application, attempt, job.does)
		job.replaced = true
	}
	job.attempt = attempt
}

// reachJob is reach for a job that the cluster has.
func (r *runner) reachJob(ctx context.Context, job *running) (*client.ClusterClient, error) {
	reached, err := r.reach(ctx, job.attempt)
	if err == nil {
		r.follows(job, reached.Attempt)
	}
	return reached, err
}
