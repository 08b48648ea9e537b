import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.flink.api.common.ExecutionMode;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.clusterframework.ApplicationStatus;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.jobgraph.JobType;
import org.apache.flink.runtime.rest.handler.RestHandlerSpecification;
import org.apache.flink.runtime.rest.messages.queue.QueueStatus;

/**
 * Prints what Flink itself knows of its REST API: a line "path METHOD TEMPLATE" for each message of JAR (flink-dist), a line
 * "values NAME VALUE..." for each set of words that its answers have, and a line "java VERSION".
 */
public class Paths {
    public static void main(String[] args) throws Exception {
        TreeSet<String> paths = new TreeSet<>();
        try (JarFile jar = new JarFile(args[0])) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                String name = entry.getName();
                boolean message = name.startsWith("org/apache/flink/runtime/rest/") || name.startsWith("org/apache/flink/runtime/webmonitor/handlers/");
                if (!message || !name.endsWith("Headers.class")) {
                    continue;
                }
                Class<?> type = Class.forName(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                if (!RestHandlerSpecification.class.isAssignableFrom(type) || Modifier.isAbstract(type.getModifiers())) {
                    continue;
                }
                RestHandlerSpecification header = headerOf(type);
                paths.add("path " + header.getHttpMethod() + " " + header.getTargetRestEndpointURL());
            }
        }
        paths.forEach(System.out::println);
        System.out.println("java " + System.getProperty("java.version"));
        values("JobStatus", JobStatus.values());
        values("ExecutionState", ExecutionState.values());
        values("ApplicationStatus", ApplicationStatus.values());
        values("QueueStatus", QueueStatus.Id.values());
        values("ExecutionMode", ExecutionMode.values());
        values("JobType", JobType.values());
    }

    private static RestHandlerSpecification headerOf(Class<?> type) throws ReflectiveOperationException {
        try {
            return (RestHandlerSpecification) type.getMethod("getInstance").invoke(null);
        } catch (NoSuchMethodException single) {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return (RestHandlerSpecification) constructor.newInstance();
        }
    }

    private static void values(String name, Enum<?>[] values) {
        StringBuilder line = new StringBuilder("values ").append(name);
        for (Enum<?> value : values) {
            line.append(' ').append(value.name());
        }
        System.out.println(line);
    }
}
