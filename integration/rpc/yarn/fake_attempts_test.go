package yarn

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// It would catch a fake whose next attempt inherits other containers, ends, asks or blacklists than YARN's.
func TestTheFakeClusterReplacesAttemptsAsARealOne(t *testing.T) {
	t.Parallel()
	t.Run("and keeps containers", func(t *testing.T) {
		t.Parallel()
		compare(t, func(c *conversation) { c.replaces(true) })
	})
	t.Run("and keeps none", func(t *testing.T) {
		t.Parallel()
		compare(t, func(c *conversation) { c.replaces(false) })
	})
}

// replaces gives an attempt up and lets the next one fail. Containers end before the last heartbeat of the first
// attempt, with it, after it, between the attempts, and after the registration of the second one.
func (c *conversation) replaces(keeps bool) {
	a := c.apply(func(s *records.SubmissionContext) { s.KeepContainers = keeps })
	first := a.lead(1)
	first.register("registers")
	first.grant("told", "last", "untold", "between", "kept", "unused")
	a.reports("unused")
	first.start("told", "last", "untold", "between", "kept")
	a.runs("told", "last", "untold", "between", "kept")
	first.stop(nodeOf(first.grantOf("told")), "told")
	first.learns(1, 0, 0)
	first.quiet()
	first.blacklist("blacklists all nodes", true)
	inVain := askFor(128)
	inVain.Ask[0].Priority.Priority, inVain.Ask[0].NumContainers = proto.Int32(4), proto.Int32(2)
	first.allocate("asks in vain", inVain)
	first.stop(nodeOf(first.grantOf("last")), "last")
	a.listed(1, "master1", "untold", "between", "kept", "unused")
	first.learns(1, 0, 0) // with its last heartbeat
	first.stop(nodeOf(first.grantOf("untold")), "untold")
	a.listed(1, "master1", "between", "kept", "unused")
	a.fail(1)
	second := a.lead(2)
	if keeps {
		a.listed(2, "master1", "master2", "between", "kept")
		a.listed(1, "master1", "master2", "between", "kept")
		first.stop(nodeOf(first.grantOf("between")), "between")
		a.listed(2, "master1", "master2", "kept")
	} else {
		a.listed(2, "master2")
		a.listed(1, "master2")
	}
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	second.register("registers")
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	if keeps {
		second.learns(4, 0, 0)
	}
	second.quiet()
	if keeps {
		second.stop(nodeOf(first.grantOf("kept")), "kept")
		a.exit("master1", 4)
		a.listed(2, "master2") // without a heartbeat: see inherit
		second.learns(2, 0, 0)
		second.quiet()
	}
	second.release("releases a container of the first attempt", "told")
	if keeps {
		second.release("releases a container of the first attempt", "kept")
		second.allocate("asks", askFor(128))
		second.quiet()
		second.blacklist("blacklists no node", false)
		second.gets(new(yarnpb.AllocateRequestProto), "new") // another ask might be granted, too
	} else {
		second.grant("new")
	}
	second.quiet()
	second.start("new")
	a.runs("new")
	a.exit("master2", 3)
	a.await(2, records.AttemptFailed)
	rpctest.Await(a.t, a.client, a.id, "ended", rpctest.Ended) // a little after its attempt
	a.states("ended")
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	first.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	second.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	a.states("at last")
}

// blacklist adds all hosts to the blacklist, or removes them.
func (l *leader) blacklist(what string, add bool) {
	l.t.Helper()
	nodes, err := l.client.ClusterNodes(l.ctx, records.NodeRunning)
	if err != nil {
		l.t.Fatal(err)
	}
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.ID.Host)
	}
	slices.Sort(hosts)
	r := &yarnpb.ResourceBlacklistRequestProto{BlacklistRemovals: slices.Compact(hosts)}
	if add {
		r.BlacklistAdditions, r.BlacklistRemovals = r.BlacklistRemovals, nil
	}
	l.allocate(what, &yarnpb.AllocateRequestProto{BlacklistRequest: r})
}

func (l *leader) release(what, name string) {
	l.t.Helper()
	l.allocate(what, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{l.containerProto(name)}})
}
