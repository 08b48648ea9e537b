// Package dfsmodel is a model of HDFS for the simulation of a whole cluster in one goroutine. It has no
// clock, no goroutine, no lock and no random source: equal calls have equal results.
//
// Namespace is the state of a NameNode and its DataNodes. FileSystem is the view of one process. It has the
// methods and the errors of *dfs.FS. It makes each of its calls through a Caller, which is the network: the
// Caller delays a call, loses it, or loses its answer, and parks the fiber that waits.
//
// # Semantics
//
// The rules are those of Hadoop 3.3 to 3.5, read from the NameNode's classes (named here) and from
// integration/rpc/hdfs, and of this module's client, internal/dfs on colinmarc/hdfs:
//
//   - A file that is open for writing has a holder, the client that created it (FSNamesystem#checkLease). For
//     everybody else to create it fails like for a complete file: AlreadyBeingCreatedException, which the
//     client turns into fs.ErrExist. Its length is 0 until it is complete, and a reader gets no bytes and no
//     error: the NameNode does not count a last block that is under construction.
//   - A writer's calls name the file by its id (FSDirectory#resolvePath with a file id). So a writer goes on,
//     and completes its file, after a rename of the file or of a directory above it. After a removal its next
//     call to the NameNode fails with fs.ErrNotExist. A call to a DataNode does not notice the removal.
//   - A client that has died renews its lease no more. After 60 s (soft limit) a create of the file begins its
//     recovery, and fails. After 20 min (hard limit, dfs.namenode.lease-hard-limit-sec) the NameNode begins
//     the recovery itself. A file without a block is complete at once, any other file some seconds later, with
//     the bytes that reached the DataNodes. From the begin of the recovery the old holder's calls fail with
//     LeaseExpiredException, which is none of the errors of package fs.
//   - A rename is atomic and replaces nothing. The NameNode looks first for the source (fs.ErrNotExist), then
//     refuses a target below the source, then one that exists, then a missing parent (fs.ErrNotExist). A target
//     that exists is fs.ErrExist only if both are files or both are directories. Otherwise the exception is a
//     plain java.io.IOException (FSDirRenameOp#validateOverwrite).
//   - A path below a file is fs.ErrPermission, except for create and for the target of a rename, where it is
//     ParentNotDirectoryException (FSDirectory#resolvePath).
//   - A modification time is the time of the creation, of the completion, or of the last change of a
//     directory's entries. A rename keeps it.
//
// # Calls without an answer
//
// The retries of internal/dfs and yarnrpc are below the Caller: it decides what they end in. A NameNode executes
// create, delete and rename once, however often they are repeated (RetryCache), and the other calls have the
// same effect when they are repeated. So an answer that is lost becomes, after the retries, either the right
// answer, later, or the error Unanswered after the effect. An effect may also come after its caller has left:
// see Caller.
//
// # Limits
//
// A file has one block, without hosts. The model leaves out permission checks (it keeps owners and modes),
// groups, ACLs, quotas, encryption zones, erasure coding, snapshots, append, safe mode, and blocks whose
// DataNodes have not reported them yet.
package dfsmodel
