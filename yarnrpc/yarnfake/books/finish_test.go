package books_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// It would catch an answer that a master repeats because it was lost, and then takes for another
// application's end: see finish.
func TestFinishIsConfirmedWhenItIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name  string
		delay time.Duration
		do    func(c *cluster, a records.ApplicationAttemptID)
		want  string
	}{
		{"at once", 0, func(*cluster, records.ApplicationAttemptID) {}, `
		1.1 finishes: false
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHING`},
		{"with a delay", time.Second, func(c *cluster, a records.ApplicationAttemptID) {
			c.finish(a)
			c.note("%s", c.state(a))
			c.pass(time.Second)
		}, `
		1.1 finishes: false
		1.1 finishes: false
		RUNNING, attempt 1 is RUNNING
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHING`},
		{"the master exits before the record", time.Second, func(c *cluster, _ records.ApplicationAttemptID) {
			c.exit("a", c.runs[0], 0)
		}, `
		1.1 finishes: false
		RM to a: forget 1.1.1
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHED`},
		{"the ResourceManager restarts before the record", time.Second, func(c *cluster, a records.ApplicationAttemptID) {
			c.step(books.Restarted{})
			c.beat()
			c.finish(a)
			c.register(a)
			c.finish(a)
			c.pass(time.Second)
		}, `
		1.1 finishes: false
		RM to a: resync
		1.1 finishes: ApplicationMasterNotRegisteredException
		1.1 registers:
		1.1 finishes: false
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHING`},
		{"the user gives the attempt up before the record", time.Hour, func(c *cluster, a records.ApplicationAttemptID) {
			c.fail(a)
			c.finish(a)
			c.exit("a", c.runs[0], 0)
		}, `
		1.1 finishes: false
		1.1 finishes: false
		RM to a: forget 1.1.1
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHED`},
		{"the user gives the attempt up after the record", 0, func(c *cluster, a records.ApplicationAttemptID) {
			c.fail(a)
			c.exit("a", c.runs[0], 1)
		}, `
		1.1 finishes: false
		RM to a: forget 1.1.1
		1.1 finishes: true
		FINISHED, attempt 1 is FINISHED`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, books.Settings{StoreDelay: test.delay}, "a")
			a := c.submit(managed())
			c.beat()
			c.register(a)
			c.transcript()
			c.finish(a)
			test.do(c, a)
			c.finish(a)
			c.note("%s", c.state(a))
			c.expect(test.want)
		})
	}
}
