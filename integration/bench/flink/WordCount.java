import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** What examples/wordcount-tuned does, in Flink's batch mode: WordCount INPUT OUTPUT. */
public class WordCount {
    public static void main(String[] paths) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        FileSource<String> text = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(paths[0])).build();
        FileSink<String> counts = FileSink.forRowFormat(new Path(paths[1]), new SimpleStringEncoder<String>()).build();
        env.fromSource(text, WatermarkStrategy.noWatermarks(), "text")
                .<Tuple2<String, Long>>flatMap((line, words) -> {
                    for (String word : line.toLowerCase().split("\\W+")) {
                        if (!word.isEmpty()) {
                            words.collect(Tuple2.of(word, 1L));
                        }
                    }
                })
                .returns(Types.TUPLE(Types.STRING, Types.LONG))
                .keyBy(counted -> counted.f0)
                .sum(1)
                .map(counted -> counted.f0 + "\t" + counted.f1)
                .sinkTo(counts);
        env.execute("wordcount");
    }
}
