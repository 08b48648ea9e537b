import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * WordCount as fast as a user of Flink can make it: BatchWordCount INPUT OUTPUT [combine]. It reads the parts of one file
 * in parallel, which FileSource cannot for lines, and reuses objects. With "combine" it finds words without a regular
 * expression, and counts them in a map before the shuffle, as examples/wordcount-tuned does.
 */
public class BatchWordCount {
    private static final TypeInformation<Tuple2<String, Long>> COUNTED = Types.TUPLE(Types.STRING, Types.LONG);

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        env.getConfig().enableObjectReuse();
        DataStream<String> lines = env.readTextFile(args[0]);
        DataStream<Tuple2<String, Long>> words = args.length > 2 ? lines.transform("combine", COUNTED, new Combine()) : each(lines);
        words.keyBy(counted -> counted.f0)
                .sum(1)
                .map(counted -> counted.f0 + "\t" + counted.f1)
                .sinkTo(FileSink.forRowFormat(new Path(args[1]), new SimpleStringEncoder<String>())
                        .withBucketAssigner(new BasePathBucketAssigner<>())
                        .build());
        env.execute("wordcount");
    }

    private static DataStream<Tuple2<String, Long>> each(DataStream<String> lines) {
        return lines.<Tuple2<String, Long>>flatMap((line, words) -> {
                    for (String word : line.toLowerCase().split("\\W+")) {
                        if (!word.isEmpty()) {
                            words.collect(Tuple2.of(word, 1L));
                        }
                    }
                })
                .returns(COUNTED);
    }

    /** Counts the words of its lines. It emits the counts at the end, and when there are too many words for its memory. */
    private static final class Combine extends AbstractStreamOperator<Tuple2<String, Long>>
            implements OneInputStreamOperator<String, Tuple2<String, Long>>, BoundedOneInput {
        private static final int MOST = 1 << 20;

        private transient Map<String, long[]> counts;

        @Override
        public void open() throws Exception {
            super.open();
            counts = new HashMap<>();
        }

        @Override
        public void processElement(StreamRecord<String> record) {
            String line = record.getValue().toLowerCase();
            int start = 0;
            for (int i = 0; i <= line.length(); i++) {
                if (i < line.length() && isOfWord(line.charAt(i))) {
                    continue;
                }
                if (start < i) {
                    counts.computeIfAbsent(line.substring(start, i), word -> new long[1])[0]++;
                }
                start = i + 1;
            }
            if (counts.size() > MOST) {
                endInput();
            }
        }

        private static boolean isOfWord(char c) {
            return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_';
        }

        @Override
        public void endInput() {
            counts.forEach((word, count) -> output.collect(new StreamRecord<>(Tuple2.of(word, count[0]))));
            counts.clear();
        }
    }
}
