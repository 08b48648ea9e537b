import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.configuration.JobManagerOptions;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessSpec;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessUtils;
import org.apache.flink.runtime.jobmanager.JobManagerProcessSpec;
import org.apache.flink.runtime.jobmanager.JobManagerProcessUtils;
import org.apache.flink.runtime.util.config.memory.ProcessMemoryUtils;

/** Prints how Flink's scripts would start a process: "Memory CONFDIR master|worker" gives a line for the JVM, and one for Flink. */
public class Memory {
    public static void main(String[] args) {
        Configuration options = GlobalConfiguration.loadConfiguration(args[0]);
        if (args[1].equals("master")) {
            JobManagerProcessSpec spec = JobManagerProcessUtils.processSpecFromConfigWithNewOptionToInterpretLegacyHeap(options, JobManagerOptions.TOTAL_PROCESS_MEMORY);
            System.out.println("jvm " + JobManagerProcessUtils.generateJvmParametersStr(spec, options));
            System.out.println("flink " + JobManagerProcessUtils.generateDynamicConfigsStr(spec));
        } else {
            TaskExecutorProcessSpec spec = TaskExecutorProcessUtils.processSpecFromConfig(options);
            System.out.println("jvm " + ProcessMemoryUtils.generateJvmParametersStr(spec));
            System.out.println("flink " + TaskExecutorProcessUtils.generateDynamicConfigsStr(spec));
        }
    }
}
