// Package integration holds the tests on real daemons: of Hadoop's protocols (rpc) and of
// the product (bobbin). Folder internal has their shared packages. It has no code itself.
//
// Each suite is a package. It uses clusters that the whole run shares (internal/clusters). A test says which cluster it
// uses, and what it changes there. The minutes are from runs on two cores, with several suites side by side. make test
// has these:
//
//	suite             clusters                               min  question
//	bobbin/jobs       open, victim                           2.6  is each result exact when processes are killed meanwhile?
//	bobbin/sessions   open, victim                           2.6  does a session run its jobs, and an application its program?
//	bobbin/security   secure, securepair                     3.0  does a job run on a secure cluster, and can nobody else get in?
//	bobbin/examples   open                                   0.1  do the programs of examples/ work as documented?
//	bobbin/web        open, securepair                       0.9  does a browser show what happens, through our page and through Flink's dashboard?
//	history           open, secure                           1.5  does the history show jobs that have ended, and do Flink's HistoryServer and ours read each other's archives?
//	harness           open, victim, secure                   0.4  are the tests themselves correct: clusters, waits, the recorder, the benchmarks?
//
// make test-thorough has these, and those tests of the first table that a short run leaves out or shortens:
//
//	suite             clusters                               min  question
//	rpc/conformance   features                               0.1  are our messages, files and tokens Hadoop's own, field by field and byte by byte?
//	rpc/yarn          open, features, victim, pair, hasty    3.9  does each call of the three YARN protocols have the effect of its Java twin?
//	rpc/hdfs          features, victim, pair                 1.1  are files complete after broken connections, lost answers and dead servers?
//	rpc/failover      open, pair                             1.2  does a client continue when the active one of two servers dies or hangs under load?
//	rpc/kerberos      secure, securepair                     0.5  which logins does Kerberos allow, and is each byte protected as negotiated?
//	rpc/releases      own                                    0.6  does all of that work with the oldest and the newest release too?
//	bobbin/failover   open, victim, pair                     1.0  does everything outlive its ApplicationMaster, and does one that was replaced change nothing?
//	bobbin/commands   open, victim                           0.9  are errors of input, timing and cluster clear, and is nothing left behind?
//	bobbin/options    features                               0.3  does YARN get each option for YARN?
//	bobbin/workers    open, victim                           0.8  do workers start, end and get refused as the ResourceManager's core assumes?
//	bobbin/doctor     open, pair, securepair                 1.4  does `bobbin doctor` name each problem and its remedy?
//	bobbin/pages      open, secure                           2.4  does each command of the documentation work for a new user?
//
// rpc/releases starts a cluster of the oldest release and one of the newest, and the harness one that cannot start. The
// tests that take minutes are in the same packages; make test-long runs them too, and there bobbin/pages starts the
// clusters of its pages. Only they use hasty, rpc/kerberos's securepair, bobbin/failover's pair, and the harness's
// victim. In that run bobbin/jobs, sessions, failover, commands, workers and examples run once more on secure clusters
// ("secured").
//
// Four more folders are not suites: sim runs a cluster in one goroutine, without daemons, and belongs to
// the unit tests (docs/simulation.md); bench measures Bobbin (docs/BENCHMARKS.md); flinkrest records the REST answers of a
// real Flink; and recording records a terminal. The harness has the tests of the last three.
package integration
