import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.HadoopKerberosName;

/**
 * Answers the table of its argument as Hadoop does: sections that begin with "[authentication mechanism] rules",
 * where "unset" stands for a property that is not there, then principals. What stands behind " = " is replaced by the
 * short name, or by "error" where Hadoop throws; a section whose rules it refuses has " = refused" on its first line.
 */
public class ShortNames {
  public static void main(String[] args) throws Exception {
    boolean refused = false;
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String question = line.split(" = ", 2)[0];
      if (line.isEmpty() || line.startsWith("#")) {
        System.out.println(line);
      } else if (line.startsWith("[")) {
        refused = !configure(question);
        System.out.println(question + (refused ? " = refused" : ""));
      } else if (!refused) {
        System.out.println(question + " = " + answer(question));
      }
    }
  }

  static boolean configure(String section) {
    int end = section.indexOf("] ");
    String[] head = section.substring(1, end).split(" ");
    Configuration conf = new Configuration(false);
    conf.set("hadoop.security.authentication", head[0]);
    set(conf, "hadoop.security.auth_to_local.mechanism", head[1]);
    set(conf, "hadoop.security.auth_to_local", section.substring(end + 2));
    try {
      HadoopKerberosName.setConfiguration(conf);
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  static void set(Configuration conf, String name, String value) {
    if (!value.equals("unset")) conf.set(name, value);
  }

  static String answer(String principal) {
    try {
      return new HadoopKerberosName(principal).getShortName();
    } catch (Exception e) {
      return "error";
    }
  }
}
