import java.io.FileOutputStream;
import java.io.ObjectOutputStream;
import java.util.Map;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.accumulators.IntCounter;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.utils.ParameterTool;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * The jobs that are asked about: "stream" has no end and makes checkpoints; "batch" has an end, far away; "fails" fails,
 * is restarted, and fails again. "graph FILE" writes a job's graph, as Flink's client sends it, and runs nothing.
 */
public class Jobs {
    public static void main(String[] args) throws Exception {
        Configuration options = new Configuration();
        switch (args[0]) {
            case "stream":
                options.setString("execution.checkpointing.interval", "1 s");
                break;
            case "fails":
                options.setString("restart-strategy.type", "fixed-delay");
                options.setString("restart-strategy.fixed-delay.attempts", "1");
                options.setString("restart-strategy.fixed-delay.delay", "10 ms");
                break;
            default:
                break;
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(options);
        env.getConfig().setGlobalJobParameters(ParameterTool.fromMap(Map.of("purpose", args[0], "api.password", "sesame")));
        if (!args[0].equals("stream")) {
            env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        }
        env.fromSource(
                        new NumberSequenceSource(1, args[0].equals("stream") ? Long.MAX_VALUE : 100_000),
                        WatermarkStrategy.<Long>forMonotonousTimestamps().withTimestampAssigner((n, at) -> n),
                        "numbers")
                .map(new Steady(args[0].equals("fails")))
                .keyBy(n -> n % 7)
                .reduce(Long::sum)
                .sinkTo(new DiscardingSink<>());
        if (args[0].equals("graph")) {
            try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(args[1]))) {
                out.writeObject(env.getStreamGraph().getJobGraph());
            }
            return;
        }
        env.execute(args[0]);
    }

    /** Steady passes on a hundred numbers a second, and counts them. */
    private static class Steady extends RichMapFunction<Long, Long> {
        private final LongCounter passed = new LongCounter();
        private final IntCounter even = new IntCounter();
        private final boolean fails;

        Steady(boolean fails) {
            this.fails = fails;
        }

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("passed", passed);
            getRuntimeContext().addAccumulator("even", even);
        }

        @Override
        public Long map(Long n) throws Exception {
            Thread.sleep(10);
            passed.add(1L);
            if (n % 2 == 0) {
                even.add(1);
            }
            if (fails && n > 20) {
                throw new IllegalStateException("this job fails at " + n);
            }
            return n;
        }
    }
}
