import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;

/** A job that runs until it is cancelled, and does almost nothing. */
public class Linger {
    public static void main(String[] none) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.fromSequence(0, Long.MAX_VALUE)
                .map(number -> {
                    Thread.sleep(200);
                    return number;
                })
                .returns(Types.LONG)
                .addSink(new DiscardingSink<>());
        env.execute("linger");
    }
}
