import org.apache.flink.api.common.operators.Order;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.DataSet;
import org.apache.flink.api.java.ExecutionEnvironment;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.FileSystem.WriteMode;

/**
 * Large jobs with the DataSet API, the only one of Flink that sorts a whole input in parallel: BatchData sort INPUT OUTPUT,
 * BatchData join LEFT RIGHT OUTPUT, BatchData group INPUT OUTPUT. They do what integration/bench/jobs does. No key is in a
 * record twice, and a sort needs no key beside its line. Flink chooses how to join by the sizes of the files.
 */
public class BatchData {
    private static final int KEY = 10;
    private static final TypeInformation<Tuple2<String, String>> KEYED = Types.TUPLE(Types.STRING, Types.STRING);
    private static final TypeInformation<Tuple2<String, Long>> COUNTED = Types.TUPLE(Types.STRING, Types.LONG);

    public static void main(String[] args) throws Exception {
        ExecutionEnvironment env = ExecutionEnvironment.getExecutionEnvironment();
        env.getConfig().enableObjectReuse();
        DataSet<String> lines = env.readTextFile(args[1]);
        DataSet<String> result;
        switch (args[0]) {
            case "sort":
                result = lines.partitionByRange("*").sortPartition("*", Order.ASCENDING);
                break;
            case "join":
                result = keyed(lines)
                        .join(keyed(env.readTextFile(args[2])))
                        .where(0)
                        .equalTo(0)
                        .with((left, right) -> left.f0 + left.f1 + right.f1)
                        .returns(Types.STRING);
                break;
            case "group":
                result = lines.map(line -> Tuple2.of(line, 1L))
                        .returns(COUNTED)
                        .groupBy(0)
                        .sum(1)
                        .map(counted -> counted.f0 + "\t" + counted.f1)
                        .returns(Types.STRING);
                break;
            default:
                throw new IllegalArgumentException(args[0] + " is none of sort, join and group");
        }
        result.writeAsText(args[args.length - 1], WriteMode.OVERWRITE);
        env.execute(args[0]);
    }

    private static DataSet<Tuple2<String, String>> keyed(DataSet<String> lines) {
        return lines.map(line -> Tuple2.of(line.substring(0, KEY), line.substring(KEY))).returns(KEYED);
    }
}
