import java.util.TreeSet;
import org.apache.hadoop.thirdparty.protobuf.Descriptors;

/**
 * Prints what the descriptors inside Hadoop's generated classes say, one fact on a line, its
 * parts separated by tabs. The arguments are the classes.
 */
public class Describe {
  private static final TreeSet<String> facts = new TreeSet<>();

  public static void main(String[] classes) throws Exception {
    for (String name : classes) {
      Descriptors.FileDescriptor file =
          (Descriptors.FileDescriptor) Class.forName(name).getMethod("getDescriptor").invoke(null);
      for (Descriptors.Descriptor m : file.getMessageTypes()) message(m);
      for (Descriptors.EnumDescriptor e : file.getEnumTypes()) enumeration(e);
      for (Descriptors.ServiceDescriptor s : file.getServices()) {
        for (Descriptors.MethodDescriptor m : s.getMethods()) {
          fact("method", s.getFullName(), m.getName(), m.getInputType().getFullName(), m.getOutputType().getFullName());
        }
      }
    }
    for (String fact : facts) System.out.println(fact);
  }

  static void message(Descriptors.Descriptor m) {
    fact("message", m.getFullName());
    for (Descriptors.FieldDescriptor f : m.getFields()) {
      fact("field", m.getFullName(), f.getName(), String.valueOf(f.getNumber()), label(f), type(f), byDefault(f));
    }
    for (Descriptors.Descriptor nested : m.getNestedTypes()) message(nested);
    for (Descriptors.EnumDescriptor nested : m.getEnumTypes()) enumeration(nested);
  }

  static void enumeration(Descriptors.EnumDescriptor e) {
    fact("enum", e.getFullName());
    for (Descriptors.EnumValueDescriptor v : e.getValues()) {
      fact("value", e.getFullName(), v.getName(), String.valueOf(v.getNumber()));
    }
  }

  static String label(Descriptors.FieldDescriptor f) {
    if (f.isRepeated()) return f.isPacked() ? "repeated packed" : "repeated";
    return f.isRequired() ? "required" : "optional";
  }

  static String type(Descriptors.FieldDescriptor f) {
    switch (f.getJavaType()) {
      case MESSAGE: return f.getMessageType().getFullName();
      case ENUM: return f.getEnumType().getFullName();
      default: return f.getType().name().toLowerCase();
    }
  }

  static String byDefault(Descriptors.FieldDescriptor f) {
    if (!f.hasDefaultValue()) return "-";
    Object value = f.getDefaultValue();
    return "=" + (value instanceof Descriptors.EnumValueDescriptor
        ? ((Descriptors.EnumValueDescriptor) value).getName() : String.valueOf(value));
  }

  static void fact(String... parts) {
    facts.add(String.join("\t", parts));
  }
}
