package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// flinkRow is a row of a table of the page.
type flinkRow struct {
	subject, answer, reason string
}

// names tells whether the row is about a word.
func (r flinkRow) names(word string) bool { return strings.Contains(r.subject, "`"+word+"`") }

// flinkRows are the rows of one section of the page.
func flinkRows(t *testing.T, heading string) []flinkRow {
	t.Helper()
	content, err := os.ReadFile("../../docs/flink-options.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(content), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, _ := strings.Cut(section, "\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []flinkRow
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			t.Fatalf("%s: a row has %d cells: %s", heading, len(cells), line)
		}
		rows = append(rows, flinkRow{cells[0], cells[1], cells[2]})
	}
	return rows
}

const (
	sessionSection = "Flags of yarn-session.sh"
	commandSection = "Commands of flink, and their flags"
	clientSection  = "Options of the client"
	yarnSection    = "Options of YARN"
	taskSection    = "Options of slots, tasks and files"
	memorySection  = "Options of memory"

	resourceManagerSection = "Options of the ResourceManager"
	jobMasterSection       = "Options of the JobMaster"
)

// TestThePageHasEachWordOfFlinks would catch a word of Flink 1.20 that is missing on the page, whether Bobbin
// has it or not.
func TestThePageHasEachWordOfFlinks(t *testing.T) {
	for _, c := range []struct{ section, command, words string }{
		{sessionSection, "", "-q --query -qu --queue -t --ship -j --jar -jm --jobManagerMemory -tm --taskManagerMemory -s --slots -D -d --detached -nm --name"},
		{sessionSection, "", "-id --applicationId -at --applicationType -z --zookeeperNamespace -nl --nodeLabel -h --help help stop quit"},
		{commandSection, "run", "-c --class -C --classpath -p --parallelism -d --detached -sae --shutdownOnAttachedExit -s --fromSavepoint -n --allowNonRestoredState"},
		{commandSection, "run", "-cm --claimMode -rm --restoreMode -py -pyfs -pym -pyreq -pyarch -pyexec -pyclientexec -pypath -j -a -v -e"},
		{commandSection, "run-application", "run-application -sae"},
		{commandSection, "info", "info"},
		{commandSection, "list", "-r --running -s --scheduled -a --all"},
		{commandSection, "cancel", "-s --withSavepoint -type"},
		{commandSection, "stop", "-p --savepointPath -d --drain -type -detached"},
		{commandSection, "savepoint", "-type -detached -d --dispose -j"},
		{commandSection, "checkpoint", "-full"},
		{commandSection, "", "-t --target -D -z --zookeeperNamespace -m --jobmanager -h -v --version"},
		{memorySection, "", "jobmanager.memory.process.size jobmanager.memory.flink.size jobmanager.memory.heap.size jobmanager.memory.off-heap.size"},
		{memorySection, "", "jobmanager.memory.jvm-metaspace.size jobmanager.memory.enable-jvm-direct-memory-limit jobmanager.memory.jvm-overhead.fraction"},
		{memorySection, "", "jobmanager.memory.jvm-overhead.min jobmanager.memory.jvm-overhead.max taskmanager.memory.jvm-metaspace.size"},
		{memorySection, "", "taskmanager.memory.process.size taskmanager.memory.flink.size taskmanager.memory.framework.heap.size taskmanager.memory.task.heap.size"},
		{memorySection, "", "taskmanager.memory.framework.off-heap.size taskmanager.memory.framework.off-heap.batch-shuffle.size taskmanager.memory.task.off-heap.size"},
		{memorySection, "", "taskmanager.memory.managed.size taskmanager.memory.managed.fraction taskmanager.memory.managed.consumer-weights"},
		{memorySection, "", "taskmanager.memory.network.min taskmanager.memory.network.max taskmanager.memory.network.fraction"},
		{memorySection, "", "taskmanager.memory.jvm-overhead.fraction taskmanager.memory.jvm-overhead.min taskmanager.memory.jvm-overhead.max"},
		{clientSection, "", "client.timeout client.retry-period client.heartbeat.interval client.heartbeat.timeout rest.retry.* rest.connection-timeout rest.idleness-timeout parallelism.default"},
		{clientSection, "", "execution.target execution.attached execution.shutdown-on-attached-exit execution.shutdown-on-application-finish"},
		{clientSection, "", "execution.submit-failed-job-on-application-error high-availability.cluster-id rest.await-leader-timeout"},
		{clientSection, "", "execution.terminate-application-on-any-job-terminated-exceptionally"},
		{yarnSection, "", "yarn.application-attempts yarn.application-attempt-failures-validity-interval yarn.appmaster.vcores yarn.containers.vcores taskmanager.cpu.cores"},
		{yarnSection, "", "yarn.application.queue yarn.application.priority yarn.application.name yarn.application.type yarn.tags"},
		{yarnSection, "", "yarn.application.node-label yarn.taskmanager.node-label yarn.view.acls yarn.modify.acls yarn.ship-files yarn.ship-archives"},
		{yarnSection, "", "yarn.provided.lib.dirs yarn.provided.usrlib.dir yarn.flink-dist-jar yarn.staging-directory yarn.file-replication"},
		{yarnSection, "", "yarn.classpath.include-user-jar yarn.heartbeat.interval yarn.heartbeat.container-request-interval yarn.application-master.port"},
		{yarnSection, "", "taskmanager.numberOfTaskSlots"},
		{resourceManagerSection, "", "resourcemanager.taskmanager-timeout taskmanager.load-balance.mode cluster.evenly-spread-out-slots slotmanager.redundant-taskmanager-num"},
		{resourceManagerSection, "", "slotmanager.number-of-slots.min slotmanager.min-total-resource.cpu slotmanager.min-total-resource.memory"},
		{resourceManagerSection, "", "slotmanager.number-of-slots.max slotmanager.max-total-resource.cpu slotmanager.max-total-resource.memory"},
		{yarnSection, "", "yarn.properties-file.location yarn.application.id yarn.security.kerberos.ship-local-keytab yarn.security.kerberos.localized-keytab-path"},
		{yarnSection, "", "yarn.security.appmaster.delegation.token.services yarn.container-start-command-template"},
		{yarnSection, "", "yarn.rolled-logs.include-pattern yarn.rolled-logs.exclude-pattern flink.hadoop.* flink.yarn.*"},
		{yarnSection, "", "external-resources external-resource.* amount yarn.config-key driver-factory.class param.*"},
		{yarnSection, "", "containerized.master.env.* containerized.taskmanager.env.* env.java.opts.* jobmanager.memory.process.size taskmanager.memory.process.size"},
		{jobMasterSection, "", "jobmanager.execution.failover-strategy jobmanager.scheduler scheduler-mode jobmanager.adaptive-scheduler.* restart-strategy.type"},
		{jobMasterSection, "", "restart-strategy.fixed-delay.attempts restart-strategy.fixed-delay.delay restart-strategy.failure-rate.delay"},
		{jobMasterSection, "", "restart-strategy.failure-rate.max-failures-per-interval restart-strategy.failure-rate.failure-rate-interval"},
		{jobMasterSection, "", "restart-strategy.exponential-delay.initial-backoff restart-strategy.exponential-delay.max-backoff"},
		{jobMasterSection, "", "restart-strategy.exponential-delay.backoff-multiplier restart-strategy.exponential-delay.reset-backoff-threshold"},
		{jobMasterSection, "", "restart-strategy.exponential-delay.jitter-factor restart-strategy.exponential-delay.attempts-before-reset-backoff"},
		{jobMasterSection, "", "slot.request.timeout slot.idle.timeout slot.request.max-interval cluster.fine-grained-resource-management.enabled"},
		{jobMasterSection, "", "execution.batch.adaptive.auto-parallelism.* execution.batch.speculative.enabled slow-task-detector.check-interval execution.batch.job-recovery.*"},
		{jobMasterSection, "", "web.exception-history-size jobmanager.execution.attempts-history-size jobmanager.failure-enrichers"},
		{taskSection, "", "taskmanager.slot.timeout taskmanager.registration.timeout taskmanager.resource-id taskmanager.jvm-exit-on-oom io.tmp.dirs classloader.*"},
		{taskSection, "", "pipeline.cached-files task.cancellation.interval task.cancellation.timeout task.cancellation.timers.timeout"},
		{taskSection, "", "blob.server.port blob.client.connect.timeout blob.client.socket.timeout blob.service.ssl.enabled blob.storage.directory"},
		{taskSection, "", "blob.fetch.retries blob.fetch.num-concurrent blob.fetch.backlog blob.service.cleanup.interval blob.offload.minsize"},
	} {
		rows := flinkRows(t, c.section)
		for word := range strings.FieldsSeq(c.words) {
			if !slices.ContainsFunc(rows, func(r flinkRow) bool {
				return r.names(word) && (c.command == "" || strings.HasPrefix(r.subject, "| `"+c.command+"`"))
			}) {
				t.Errorf("%q has no row for %s %s", c.section, c.command, word)
			}
		}
	}
}

// TestThePageTellsWhatHoldsEachAnswer would catch a statement that no test checks, and a test named without its
// file. Another test checks that the linked files exist.
func TestThePageTellsWhatHoldsEachAnswer(t *testing.T) {
	test, located := regexp.MustCompile("`Test\\w+`"), regexp.MustCompile("`Test\\w+` in `[a-z0-9_/]+_test\\.go`")
	span := regexp.MustCompile("`[^`]+`")
	var rows []flinkRow
	for _, section := range []string{sessionSection, commandSection, clientSection, yarnSection, resourceManagerSection, jobMasterSection, taskSection} {
		rows = append(rows, flinkRows(t, section)...)
	}
	for _, r := range rows {
		if !slices.Contains([]string{"works", "not yet", "no meaning"}, r.answer) || r.reason == "" {
			t.Errorf("%s: %q, %q", r.subject, r.answer, r.reason)
		}
		if len(test.FindAllString(r.reason, -1)) != len(located.FindAllString(r.reason, -1)) {
			t.Errorf("%s: a test stands without its file: %s", r.subject, r.reason)
		}
		ofOption := slices.ContainsFunc(span.FindAllString(r.reason, -1), func(name string) bool { // it has a row of its own
			return strings.Contains(name, ".") && slices.ContainsFunc(rows, func(other flinkRow) bool { return other != r && strings.Contains(other.subject, name) })
		})
		if r.answer == "works" && !located.MatchString(r.reason) && !strings.Contains(r.reason, "the comparison") && !ofOption {
			t.Errorf("%s works, and nothing holds that: %s", r.subject, r.reason)
		}
	}
}

// TestThePageOfFlinksFlagsHasEach would catch a flag or an option of ours that is missing on the page.
func TestThePageOfFlinksFlagsHasEach(t *testing.T) {
	content, err := os.ReadFile("../../docs/flink-options.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	ours := []string{"output", "o", "proxy-user", "help", "print"}
	bind := Process{}.bind
	commands := []*cli.Command{runCommand(bind), runApplicationCommand(bind), infoCommand(bind), listCommand(bind), cancelCommand(bind), stopCommand(bind)}
	for _, command := range append(commands, sessionCommand(bind).Subcommands...) {
		for _, flag := range command.Flags {
			names := flag.Names()
			if slices.Contains(ours, names[0]) {
				continue
			}
			for _, name := range names {
				if !strings.Contains(page, "`-"+name+"`") && !strings.Contains(page, "`--"+name+"`") {
					t.Errorf("%s of %s is not on the page", dashed(name), command.Name)
				}
			}
		}
	}
	for _, option := range config.Names() {
		for _, prefix := range []string{"yarn.", "external-resource", "containerized.", "flink.", "execution.", "client.", "high-availability.", "parallelism.", "task."} {
			if strings.HasPrefix(option, prefix) && !strings.Contains(page, "`"+option+"`") {
				t.Errorf("%s is not on the page", option)
			}
		}
	}
}

// TestWhereTheLastSessionIsWrittenDown would catch an option for the path of the session file that only some
// commands use.
func TestWhereTheLastSessionIsWrittenDown(t *testing.T) {
	for _, c := range []struct{ option, temporary, want string }{
		{"", "", "/tmp"},
		{"", "/var/tmp", "/var/tmp"},
		{"/srv/sessions", "/var/tmp", "/srv/sessions"},
	} {
		asked := call{executable: "/nowhere/bin/bobbin", getenv: func(name string) string {
			return map[string]string{"TMPDIR": c.temporary}[name]
		}}
		cfg, err := asked.options(config.Layer{Source: "-D", Values: map[string]string{config.YarnPropertiesFileLocation.Name(): c.option}})
		if err != nil {
			t.Fatal(err)
		}
		if got := asked.sessionFile(cfg); filepath.Dir(got) != c.want {
			t.Errorf("option %q, TMPDIR %q: %s, want it in %s", c.option, c.temporary, got, c.want)
		}
	}
}
