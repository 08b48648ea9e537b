import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;

/**
 * Prints what Hadoop's own reader makes of core-site.xml in this directory.
 * From this directory, with Hadoop's jars in JARS:
 *
 *   BOBBIN_SET=set BOBBIN_EMPTY= java -Dbobbin.property=property \
 *     -cp "$JARS/*" Values.java > expected.txt
 */
public class Values {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration(false);
    conf.addResource(new java.io.File("core-site.xml").toURI().toURL());
    Map<String, String> lines = new TreeMap<>();
    for (Map.Entry<String, String> e : conf) {
      String value;
      try {
        value = quote(conf.getTrimmed(e.getKey()));
      } catch (IllegalStateException tooDeep) {
        value = "error";
      }
      lines.put("string " + e.getKey(), value);
    }
    for (String name : new String[] {"absent", "empty", "inside.unknown", "fallback.unused", "fs.default.name"}) {
      lines.put("string " + name, quote(conf.getTrimmed(name)));
    }
    lines.put("bool bool.upper", "" + conf.getBoolean("bool.upper", false));
    for (String name : new String[] {"int.hex", "int.negative", "int.spaced"}) {
      lines.put("int " + name, "" + conf.getLong(name, -1));
    }
    for (String name : new String[] {"plain", "seconds", "millis", "days", "upper"}) {
      lines.put("duration duration." + name, "" + conf.getTimeDuration("duration." + name, -1, TimeUnit.MILLISECONDS));
    }
    for (String name : new String[] {"kilo", "mega", "plain"}) {
      lines.put("size size." + name, "" + conf.getLongBytes("size." + name, -1));
    }
    lines.put("strings list", String.join("|", conf.getTrimmedStrings("list")));
    lines.forEach((k, v) -> System.out.println(k + " = " + v));
  }

  static String quote(String s) {
    return s == null ? "unset" : "\"" + s.replace("\n", "\\n") + "\"";
  }
}
