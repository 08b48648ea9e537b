import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * What main.go beside it does, with Hadoop's own client: the arguments are an application, the
 * number of callers, of calls to warm up, and of calls that count.
 */
public class Calls {
  public static void main(String[] args) throws Exception {
    ApplicationId app = ApplicationId.fromString(args[0]);
    int callers = Integer.parseInt(args[1]);
    int warm = Integer.parseInt(args[2]);
    int calls = Integer.parseInt(args[3]);
    YarnClient client = YarnClient.createYarnClient();
    client.init(new YarnConfiguration());
    client.start();
    ExecutorService threads = Executors.newFixedThreadPool(callers);
    run(client, app, threads, callers, warm);
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long before = system.getProcessCpuTime();
    long start = System.nanoTime();
    long[] latencies = run(client, app, threads, callers, calls);
    long took = System.nanoTime() - start;
    long used = system.getProcessCpuTime() - before;
    threads.shutdown();
    client.stop();
    Arrays.sort(latencies);
    System.out.printf(
        "{\"perSecond\":%f,\"p50Micros\":%f,\"p99Micros\":%f,\"cpuPerCall\":%f}%n",
        calls * 1e9 / took, latencies[calls / 2] / 1e3, latencies[(int) (calls * 99L / 100)] / 1e3, used / 1e3 / calls);
  }

  private static long[] run(YarnClient client, ApplicationId app, ExecutorService threads, int callers, int calls)
      throws Exception {
    long[] latencies = new long[calls];
    List<Future<Void>> running = new ArrayList<>();
    for (int c = 0; c < callers; c++) {
      int caller = c;
      running.add(
          threads.submit(
              () -> {
                for (int i = caller; i < calls; i += callers) {
                  long start = System.nanoTime();
                  client.getApplicationReport(app);
                  latencies[i] = System.nanoTime() - start;
                }
                return null;
              }));
    }
    for (Future<Void> f : running) f.get();
    return latencies;
  }
}
