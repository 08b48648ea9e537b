package bobbin.hadoop;

import org.apache.hadoop.fs.LocalFileSystem;

/** fs.file.impl: Hadoop's, with checksums, over a PosixFileSystem. */
public class PosixLocalFileSystem extends LocalFileSystem {
  public PosixLocalFileSystem() {
    super(new PosixFileSystem());
  }
}
