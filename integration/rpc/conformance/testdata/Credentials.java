import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.TreeSet;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.token.Token;

/**
 * Writes and reads credentials files as Hadoop does. A line is the content of one entry, with
 * fields in hex: "token ALIAS IDENTIFIER PASSWORD KIND SERVICE" or "secret ALIAS VALUE".
 *
 * <p>write FOLDER: puts the lines of the standard input into FOLDER/WRITABLE and FOLDER/PROTOBUF.
 * read FILE…: prints the lines of each file, sorted.
 */
public class Credentials {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("write")) {
      write(args[1]);
    } else {
      for (String file : Arrays.asList(args).subList(1, args.length)) {
        read(file);
      }
    }
  }

  private static void write(String folder) throws Exception {
    var credentials = new org.apache.hadoop.security.Credentials();
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line; (line = in.readLine()) != null; ) {
      String[] f = line.split(" ", -1);
      if (f[0].equals("token")) {
        credentials.addToken(text(f[1]), new Token<>(bytes(f[2]), bytes(f[3]), text(f[4]), text(f[5])));
      } else {
        credentials.addSecretKey(text(f[1]), bytes(f[2]));
      }
    }
    for (var format : org.apache.hadoop.security.Credentials.SerializedFormat.values()) {
      try (var out = new DataOutputStream(new FileOutputStream(folder + "/" + format))) {
        credentials.writeTokenStorageToStream(out, format);
      }
    }
  }

  private static void read(String file) throws Exception {
    var credentials = new org.apache.hadoop.security.Credentials();
    try (var in = new DataInputStream(new FileInputStream(file))) {
      credentials.readTokenStorageStream(in);
    }
    var lines = new TreeSet<String>();
    credentials.getTokenMap().forEach((alias, token) -> lines.add(String.join(" ", "token", hex(alias),
        hex(token.getIdentifier()), hex(token.getPassword()), hex(token.getKind()), hex(token.getService()))));
    credentials.getSecretKeyMap().forEach((alias, value) -> lines.add(String.join(" ", "secret", hex(alias), hex(value))));
    lines.forEach(System.out::println);
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static Text text(String hex) {
    return new Text(bytes(hex));
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private static String hex(Text text) {
    return hex(Arrays.copyOf(text.getBytes(), text.getLength()));
  }
}
