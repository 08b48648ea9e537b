// Package books is a model of YARN: a ResourceManager and NodeManagers as pure state, without
// sockets, goroutines, a clock or random numbers. Package yarnfake puts servers and processes
// around it. A deterministic simulation calls it directly, and so both have one idea of what YARN
// does.
//
// Each of the two is a core: Step takes the time and an event, and returns effects; Alarm returns
// the time at which the core wants a Tick. The same list of events always gives the same effects.
//
//	rm := books.NewResourceManager(settings, keys, now)
//	nm := books.NewNodeManager(node, capability)
//	for _, effect := range nm.Step(now, books.Start{}) { … } // a Registration
//
// The owner carries messages between the two, at once or late:
//   - A ToResourceManager is an effect of a NodeManager and an event of the ResourceManager.
//   - A ToNode is an effect of the ResourceManager, and an event of the NodeManager that it names.
//
// It may delay, drop and repeat them: a NodeManager lists its containers in each heartbeat until
// the ResourceManager lets it forget them, and the ResourceManager repeats an order as long as
// a list shows that it was not obeyed. Only a Launch is not repeated, as in YARN: the attempt then
// ends by Settings.MasterExpiry.
//
// Calls of clients, ApplicationMasters and for NodeManagers carry their requests and answers as
// encoded messages, so that no memory is shared between the processes of a simulation.
//
// The model follows Hadoop 3.4; integration/rpc/yarn holds it to real daemons, also when attempts fail,
// nodes are silent, and the ResourceManager restarts. It differs from it here:
//   - The ResourceManager handles what YARN spreads over its dispatchers in one step. Only the
//     recording of an application's end can take time (Settings.StoreDelay).
//   - The keys of tokens for nodes and of containers roll only when a ResourceManager starts without
//     its state (StateLost).
//   - A node accepts only tokens of its last two keys. Hadoop's node also keeps an older key for an attempt
//     that has started a container with it (NMTokenSecretManagerInNM#oldMasterKeys).
//
// The package starts no goroutine. Only yarnfake and tests may import it, and it imports no server
// and nothing of Bobbin outside yarnrpc and hadoopproto.
package books
