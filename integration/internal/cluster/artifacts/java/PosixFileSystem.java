package bobbin.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, which sets permissions by a call of the JDK. Without native code Hadoop starts a process for
 * each, some twenty for a container. That is left to the permissions that the JDK does not know, such as the sticky bit, and
 * to names that it has no encoding for.
 */
public class PosixFileSystem extends RawLocalFileSystem {
  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    int mode = permission.toShort();
    if ((mode & ~0777) != 0) {
      super.setPermission(path, permission);
      return;
    }
    java.nio.file.Path file;
    try {
      file = pathToFile(path).toPath();
    } catch (InvalidPathException e) {
      super.setPermission(path, permission);
      return;
    }
    Files.setPosixFilePermissions(file, permissions(mode));
  }

  /** The permissions of a mode such as 0640. */
  public static Set<PosixFilePermission> permissions(int mode) {
    Set<PosixFilePermission> set = EnumSet.noneOf(PosixFilePermission.class);
    PosixFilePermission[] all = PosixFilePermission.values(); // OWNER_READ first, OTHERS_EXECUTE last
    for (int i = 0; i < all.length; i++) {
      if ((mode & 0400 >> i) != 0) {
        set.add(all[i]);
      }
    }
    return set;
  }
}
