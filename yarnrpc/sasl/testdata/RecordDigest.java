import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslServer;

/**
 * Prints DIGEST-MD5 logins between the JDK's client and server, as Hadoop sets them up, one
 * value in hex on a line: what the Go client must answer and understand. Run: java RecordDigest.java
 */
public class RecordDigest {
  public static void main(String[] args) throws Exception {
    for (String[] c : new String[][] {{"auth", ""}, {"auth-int", ""}, {"auth-conf", "3des"}, {"auth-conf", "rc4"}}) {
      record(c[0], c[1]);
    }
  }

  static void record(String qop, String cipher) throws Exception {
    Map<String, String> props = new HashMap<>();
    props.put(Sasl.QOP, qop);
    props.put(Sasl.SERVER_AUTH, "true");
    if (!cipher.isEmpty()) props.put("com.sun.security.sasl.digest.cipher", cipher);
    CallbackHandler answers = callbacks -> {
      for (Callback callback : callbacks) {
        if (callback instanceof NameCallback) ((NameCallback) callback).setName("aWRlbnRpZmllcg==");
        if (callback instanceof PasswordCallback) ((PasswordCallback) callback).setPassword("cGFzc3dvcmQ=".toCharArray());
        if (callback instanceof RealmCallback) ((RealmCallback) callback).setText("default");
        if (callback instanceof AuthorizeCallback) ((AuthorizeCallback) callback).setAuthorized(true);
      }
    };
    SaslServer server = Sasl.createSaslServer("DIGEST-MD5", "", "default", props, answers);
    SaslClient client = Sasl.createSaslClient(new String[] {"DIGEST-MD5"}, null, "", "default", props, answers);
    byte[] challenge = server.evaluateResponse(new byte[0]);
    byte[] response = client.evaluateChallenge(challenge);
    byte[] success = server.evaluateResponse(response);
    client.evaluateChallenge(success);
    System.out.println("qop " + qop + " " + cipher);
    print("challenge", challenge);
    print("response", response);
    print("success", success);
    if (qop.equals("auth")) return;
    for (String message : new String[] {"a", "a second message, which is longer than a block", "", "12345678"}) {
      byte[] up = client.wrap(message.getBytes(), 0, message.length());
      byte[] down = server.wrap(message.getBytes(), 0, message.length());
      print("message", message.getBytes());
      print("client", up);
      print("server", down);
    }
  }

  static void print(String name, byte[] value) {
    System.out.println(name + " " + HexFormat.of().formatHex(value));
  }
}
