// Package yarnfake is a YARN cluster inside a test: a ResourceManager and
// NodeManagers that speak Hadoop's real bytes, so that a client or an
// ApplicationMaster runs against them as it runs against a cluster.
//
//	fake, err := yarnfake.Start(yarnfake.Config{Nodes: 2})
//	if err != nil {
//		t.Fatal(err)
//	}
//	defer fake.Stop()
//	o, err := yarnclient.FromConf(fake.Conf(), "alice")
//
// It listens on the loopback address, or, with Config.InMemory, opens no socket:
// clients are given Fake.Dial as yarnrpc.Options.Dial, and everything, time included,
// fits into a bubble of testing/synctest.
//
// What it has:
//   - ApplicationClientProtocol: new application, submit, reports and lists, kill,
//     failing an attempt, attempts, containers, metrics, nodes, the queue and
//     everybody's rights in it, delegation tokens. Clients are believed who they are, or
//     log in with a delegation token.
//   - ApplicationMasterProtocol, with AMRM tokens: registration, response ids and
//     repeated requests, grants by priority and place, release, blacklist, completed
//     containers, roll-over of the key, further attempts, unmanaged masters,
//     containers kept across attempts.
//   - ContainerManagementProtocol, with NM and container tokens: start, stop, status
//     and signal. Containers are child processes, started from a bash script as a
//     NodeManager writes it, or calls of Config.Run.
//   - Faults that a test orders: see Fake.Refuse, Drop, Delay, Standby,
//     RestartResourceManager, RollAMRMKey, LoseNode, RestartNode, Freeze, Preempt and
//     FailContainer.
//
// Grants are made in one order: node after node at each heartbeat, applications by
// their age, asks by priority and request id. Two runs of the same calls and
// heartbeats (Fake.Beat) grant the same containers on the same nodes.
//
// What it leaves out: Kerberos and ACLs; queues beyond root.default, labels,
// attributes, reservations, profiles and lists of resource types, placement
// constraints, places of masters, opportunistic containers and updates of
// containers; moves, priorities and lifetimes; localization from anywhere but file: (and archives are not
// unpacked); reinitialization of containers, auxiliary services, logs on HDFS, web
// pages and REST; high availability beyond Standby; the limits that a real NodeManager
// sets to processes; expiry of masters that fall silent. Calls that are left out
// answer RpcNoSuchMethodException. NodeManagers and ResourceManager talk to each
// other by plain calls, not over ResourceTracker.
//
// A Fake has the goroutines of its servers, one for heartbeats and one for each
// running container; Stop ends all and waits. The books of the ResourceManager are a
// pure core (books.go). Any number of goroutines may use a Fake. The package is for
// tests: nothing else is to import it.
package yarnfake
