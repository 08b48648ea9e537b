package msg

// UpdateTokens brings the tokens by which HDFS is reached from now on, in place of those
// that StartHost or the container's credentials have brought: from the ResourceManager to
// its TaskExecutors, and from each to its task hosts; and to drivers beside the master.
type UpdateTokens struct{ Tokens Secret } // as creds.Credentials.Marshal gives them

func (UpdateTokens) isMessage() {}
