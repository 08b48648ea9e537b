import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Large jobs in SQL: BatchSql join LEFT RIGHT OUTPUT, BatchSql group INPUT OUTPUT. They do what integration/bench/jobs does. A
 * sort is not among them: SQL sorts a whole input in one task.
 */
public class BatchSql {
    public static void main(String[] args) throws Exception {
        TableEnvironment env = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        table(env, "l", args[1]);
        table(env, "result", args[args.length - 1]);
        String query;
        switch (args[0]) {
            case "join":
                table(env, "r", args[2]);
                query = "SELECT l.line || SUBSTRING(r.line FROM 11) FROM l JOIN r ON SUBSTRING(l.line FROM 1 FOR 10) = SUBSTRING(r.line FROM 1 FOR 10)";
                break;
            case "group":
                query = "SELECT line || CHR(9) || CAST(COUNT(*) AS STRING) FROM l GROUP BY line";
                break;
            default:
                throw new IllegalArgumentException(args[0] + " is neither join nor group");
        }
        long runtime = env.executeSql("INSERT INTO `result` " + query)
                .getJobClient()
                .orElseThrow()
                .getJobExecutionResult()
                .get()
                .getNetRuntime();
        System.out.println("Job Runtime: " + runtime + " ms"); // Flink prints it only for the other APIs
    }

    /** Makes a table of the lines of text files. */
    private static void table(TableEnvironment env, String name, String path) {
        env.executeSql("CREATE TABLE `" + name + "` (line STRING) WITH ('connector' = 'filesystem', 'format' = 'raw', 'path' = '" + path + "')");
    }
}
