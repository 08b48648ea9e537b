// Package integration is the tests on real daemons: Hadoop's protocols (rpc), the product
// (bobbin), and below internal what both use. It has no code of its own.
//
// Each suite is a package that is named by what it shows. It has clusters that the whole
// run shares (internal/clusters); a test says which, and what it changes. The minutes are
// of a run of `make test` on two cores, several suites beside each other.
//
//	suite             clusters                    min  question
//	rpc/conformance   features                    0.1  are our messages, files and tokens Hadoop's own, field by field and byte by byte?
//	rpc/yarn          open, features, victim, pair, hasty  2.7  does each call of the three YARN protocols do what its Java twin does?
//	rpc/hdfs          features, victim, pair      1.1  are files whole, through broken connections, lost answers and dead servers?
//	rpc/failover      open, pair                  1.2  does a client live on when the active one of two servers dies, or hangs, under load?
//	rpc/kerberos      secure, securepair          0.5  who gets in with Kerberos, and is each byte protected as was agreed?
//	rpc/releases      own                         0.6  does the oldest, and the newest, release do all of that, too?
//	bobbin/jobs       open, victim                2.6  is each result exact, whatever is killed meanwhile?
//	bobbin/sessions   open, victim                2.6  does a session take jobs as they come, and an application run its program?
//	bobbin/commands   open, victim                0.9  what are people told whose input, timing or cluster is bad, and is nothing left?
//	bobbin/options    features                    0.3  does each option of YARN's reach YARN?
//	bobbin/workers    open, victim                0.8  do workers come, go and get refused as the ResourceManager's core believes?
//	bobbin/security   secure, securepair          3.0  does a job run where everything is secure, and does nobody else come in?
//	bobbin/doctor     open, pair, securepair      1.4  does `bobbin doctor` name each illness, and its cure?
//	bobbin/examples   open                        0.1  do the programs of examples/ do what they say?
//	bobbin/pages      open, secure                2.4  does each command of the documentation work for a newcomer?
//	harness           open, victim, secure        0.4  can the tests be believed: clusters, waits, the recorder, the benchmarks' rows?
//
// rpc/releases has one cluster of the oldest release and one of the newest, bobbin/pages starts those
// that its pages start, and the harness one that cannot start. The tests of minutes are in the same
// packages; make test-long runs them, too. They alone use hasty, rpc/kerberos's securepair, and the
// harness's victim. In that run bobbin/jobs, sessions, commands, workers and examples run once more on
// secure clusters ("secured").
//
// Beside the suites, bench measures Bobbin (docs/BENCHMARKS.md), and flinkrest records the REST
// answers of a real Flink. The harness has their tests.
package integration
