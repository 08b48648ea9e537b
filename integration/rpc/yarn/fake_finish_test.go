package yarn

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// It would catch a fake that answers an old attempt, or one that has unregistered, otherwise than YARN. A master would
// then remove the files of the next attempt, or try again for ever.
func TestTheFakeClusterEndsApplicationsAsARealOne(t *testing.T) {
	t.Parallel()
	compare(t, func(c *conversation) { c.ends() })
}

// ends replaces an attempt, and lets both finish more than once.
func (c *conversation) ends() {
	a := c.apply(func(*records.SubmissionContext) {})
	first := a.lead(1)
	first.register("registers")
	first.allocate("allocates", new(yarnpb.AllocateRequestProto))
	a.fail(1)
	second := a.lead(2)
	a.fail(1) // again
	first.allocate("allocates", new(yarnpb.AllocateRequestProto))
	first.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_KILLED)
	first.register("registers")
	first.connect()
	first.allocate("logs in", new(yarnpb.AllocateRequestProto))
	a.states("before the second attempt registers")
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	second.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_KILLED)
	second.register("registers")
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	a.await(2, records.AttemptRunning)
	a.states("running")
	second.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	second.finished()
	second.finish("finishes again", yarnpb.FinalApplicationStatusProto_APP_FAILED)
	second.allocate("allocates", askFor(128))
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	second.register("registers")
	a.states("recorded")
	a.fail(2)
	a.exit("master2", 3)
	a.await(2, records.AttemptFinished)
	a.states("exited")
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	second.register("registers")
	second.finish("finishes again", yarnpb.FinalApplicationStatusProto_APP_FAILED)
	second.connect()
	second.allocate("logs in", new(yarnpb.AllocateRequestProto))
	a.fail(2)
	a.states("at last")
}

// finished repeats the call until the end is recorded.
func (l *leader) finished() {
	l.t.Helper()
	wait.For(l.t, "the end is recorded", func() (bool, error) {
		response := new(yarnpb.FinishApplicationMasterResponseProto)
		err := l.proxy.Call(l.ctx, "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
			FinalApplicationStatus: yarnpb.FinalApplicationStatusProto_APP_FAILED.Enum(),
		}, response)
		return response.GetIsUnregistered(), err
	})
}
