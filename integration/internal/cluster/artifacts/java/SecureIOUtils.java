package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;

import bobbin.hadoop.PosixFileSystem;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Stands before Hadoop's own class of this name on the class path. On a secure cluster that one asks the operating system,
 * by native code, whether a log file is really its application's user's: that ends a NodeManager which has no native code,
 * and refuses every file where all containers run as one user. This one does not ask. Nothing else is different.
 */
public class SecureIOUtils {
  public static RandomAccessFile openForRandomRead(File file, String mode, String owner, String group)
      throws IOException {
    return new RandomAccessFile(file, mode);
  }

  public static FSDataInputStream openFSDataInputStream(File file, String owner, String group)
      throws IOException {
    return FileSystem.getLocal(new Configuration()).getRaw().open(new Path(file.getAbsolutePath()));
  }

  public static FileInputStream openForRead(File file, String owner, String group) throws IOException {
    return new FileInputStream(file);
  }

  public static FileOutputStream createForWrite(File file, int permissions) throws IOException {
    try {
      Files.createFile(file.toPath(), PosixFilePermissions.asFileAttribute(PosixFileSystem.permissions(permissions)));
    } catch (FileAlreadyExistsException e) {
      throw new AlreadyExistsException(e);
    }
    return new FileOutputStream(file);
  }

  public static class AlreadyExistsException extends IOException {
    public AlreadyExistsException(Throwable cause) {
      super(cause);
    }
  }
}
