import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.Token;

/**
 * Writes writable.hdts and protobuf.hdts into the working directory and prints numbers
 * as Hadoop encodes them. Run with Hadoop's jars on the class path: java -cp … WriteCredentials.java
 */
public class WriteCredentials {
  public static void main(String[] args) throws Exception {
    byte[] long300 = new byte[300];
    Arrays.fill(long300, (byte) 7);
    Credentials c = new Credentials();
    c.addToken(new Text(""), token("attempt".getBytes(StandardCharsets.UTF_8), "p1", "YARN_AM_RM_TOKEN", ""));
    c.addToken(new Text("nn"), token(new byte[] {0, 1}, "p2", "HDFS_DELEGATION_TOKEN", "ha-hdfs:ns"));
    c.addToken(new Text("rm"), token(long300, "p3", "RM_DELEGATION_TOKEN", "10.0.0.1:8032,10.0.0.2:8032"));
    c.addSecretKey(new Text("key"), new byte[] {(byte) 0xde, (byte) 0xad});
    for (Credentials.SerializedFormat format : Credentials.SerializedFormat.values()) {
      try (DataOutputStream out = new DataOutputStream(new FileOutputStream(format.name().toLowerCase() + ".hdts"))) {
        c.writeTokenStorageToStream(out, format);
      }
    }
    for (long n : new long[] {0, 127, -112, 128, 255, 256, -113, -256, -257, Long.MAX_VALUE, Long.MIN_VALUE,
        1795248863750L, -1795248863750L}) {
      DataOutputBuffer b = new DataOutputBuffer();
      WritableUtils.writeVLong(b, n);
      StringBuilder hex = new StringBuilder();
      for (int i = 0; i < b.getLength(); i++) hex.append(String.format("%02x", b.getData()[i]));
      System.out.println(n + " " + hex);
    }
  }

  static Token<?> token(byte[] identifier, String password, String kind, String service) {
    return new Token<>(identifier, password.getBytes(StandardCharsets.UTF_8), new Text(kind), new Text(service));
  }
}
