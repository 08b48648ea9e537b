package msg

// UpdateTokens brings new tokens for HDFS. They replace those of StartHost or of the
// container's credentials. The ResourceManager sends them to its TaskExecutors, and each
// TaskExecutor to its task hosts. Drivers beside the master get them too.
type UpdateTokens struct{ Tokens Secret } // as creds.Credentials.Marshal gives them

func (UpdateTokens) isMessage() {}
