// Package yarnfake is a YARN cluster inside a test. Its ResourceManager and NodeManagers speak
// Hadoop's real protocol, so a client or an ApplicationMaster works with them as with a cluster.
//
//	fake, err := yarnfake.Start(yarnfake.Config{Nodes: 2})
//	if err != nil {
//		t.Fatal(err)
//	}
//	defer fake.Stop()
//	o, err := yarnclient.FromConf(fake.Conf(), "alice")
//
// It listens on the loopback address. With Config.InMemory it opens no socket: set
// yarnrpc.Options.Dial of clients to Fake.Dial. Then the whole cluster, with its time, works in a
// bubble of testing/synctest.
//
// It has:
//   - ApplicationClientProtocol: new application, submit, reports and lists, kill, failing an
//     attempt, attempts, containers, metrics, nodes, the queue and the rights in it,
//     delegation tokens. The fake trusts the clients' user names, or they log in with a delegation
//     token.
//   - ApplicationMasterProtocol, with AMRM tokens: registration, response ids and
//     repeated requests, grants by priority and place, release, blacklist, completed
//     containers, roll-over of the key, further attempts, unmanaged masters,
//     containers kept across attempts.
//   - ContainerManagementProtocol, with NM and container tokens: start, stop, status
//     and signal. Containers are child processes, started from a bash script as a
//     NodeManager writes it, or calls of Config.Run.
//   - Expiry of silent masters and nodes, and an end that takes time to be recorded, if the Config
//     says so.
//   - Two ResourceManagers, of which one is active, if the Config says so.
//   - Faults on request of a test: see Fake.Refuse, Drop, Delay, Standby, FailOver,
//     RestartResourceManager, RestartResourceManagerAlone, LoseResourceManager, RollAMRMKey, LoseNode,
//     RestartNode, CrashNode, Freeze, Preempt and FailContainer.
//
// The fake grants containers in a fixed order: node after node at each heartbeat, applications by
// age, asks by priority and request id. Two runs with the same calls and heartbeats (Fake.Beat)
// grant the same containers on the same nodes.
//
// It leaves out: Kerberos and ACLs; queues beyond root.default, labels,
// attributes, reservations, profiles and lists of resource types, placement
// constraints, places of masters, opportunistic containers and updates of
// containers; moves, priorities and lifetimes; localization from anywhere but file: (and archives are not
// unpacked); reinitialization of containers, auxiliary services, logs on HDFS, web
// pages and REST; the administration of ResourceManagers; the limits that a real NodeManager
// sets to processes. Calls that are left out
// answer RpcNoSuchMethodException. NodeManagers and ResourceManager talk to each
// other by plain calls, not over ResourceTracker.
//
// A Fake has the goroutines of its servers, one for heartbeats, one for alarms, and one for each
// running container. Stop ends all and waits. The state of the ResourceManager and of each
// NodeManager is a pure core (package books). Any number of goroutines may use a Fake. Only tests
// may import the package.
package yarnfake
