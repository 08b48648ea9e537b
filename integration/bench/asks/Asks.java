import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * What main.go beside it does, with Hadoop's own client: the arguments are an unmanaged application, the
 * number of containers, and the hosts. It heartbeats every 100 ms, too.
 */
public class Asks {
  public static void main(String[] args) throws Exception {
    ApplicationId app = ApplicationId.fromString(args[0]);
    int containers = Integer.parseInt(args[1]);
    String[] hosts = Arrays.copyOfRange(args, 2, args.length);
    YarnConfiguration conf = new YarnConfiguration();
    YarnClient client = YarnClient.createYarnClient();
    client.init(conf);
    client.start();
    UserGroupInformation.getCurrentUser().addToken(client.getAMRMToken(app));
    AMRMClient<ContainerRequest> rm = AMRMClient.createAMRMClient();
    rm.init(conf);
    rm.start();
    long start = System.nanoTime();
    rm.registerApplicationMaster("localhost", -1, "");
    Resource size = Resource.newInstance(128, 1);
    for (int i = 0; i < containers; i++) {
      String[] host = {hosts[i % hosts.length]};
      rm.addContainerRequest(new ContainerRequest(size, host, null, Priority.newInstance(1)));
    }
    int got = 0;
    int beats = 0;
    for (; ; Thread.sleep(100)) {
      AllocateResponse response = rm.allocate(0);
      beats++;
      got += response.getAllocatedContainers().size();
      if (got >= containers) {
        break;
      }
    }
    double took = (System.nanoTime() - start) / 1e9;
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    double used = system.getProcessCpuTime() / 1e9;
    rm.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    rm.stop();
    client.stop();
    System.out.printf("{\"seconds\":%f,\"cpuSeconds\":%f,\"heartbeats\":%d}%n", took, used, beats);
  }
}
