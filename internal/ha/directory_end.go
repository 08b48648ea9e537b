package ha

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Authority implements Store. If the blocks of the key are lost, the attempt must say so: nobody could lead without it.
func (s *directoryStore) Authority(ctx context.Context) ([]byte, error) {
	return s.load(ctx, authorityFile)
}

// SetAuthority implements Store.
func (s *directoryStore) SetAuthority(ctx context.Context, pem []byte) error {
	return s.putOnce(ctx, authorityFile, pem)
}

// Publish implements Store. Readers look for the address, and take access.json only with it. So the address comes last.
func (s *directoryStore) Publish(ctx context.Context, address string, access []byte) error {
	name, err := addressName(s.Epoch, address)
	if err == nil {
		err = s.replace(ctx, launch.AccessFile, access)
	}
	if err != nil {
		return err
	}
	return s.patient(ctx, "publish "+name, func(ctx context.Context) error { return s.publish(ctx, name) })
}

// publish gives an earlier leader's file this name. If there is none, it makes one.
func (s *directoryStore) publish(ctx context.Context, name string) error {
	entries, err := s.Files.List(ctx, s.dir)
	if err != nil {
		return err
	}
	old := ""
	for _, e := range entries {
		switch base := path.Base(e.URI); {
		case base == name: // its answer was lost, or this attempt starts again
			return nil
		case old == "":
			if _, is := parseAddressName(base); is {
				old = e.URI
			}
		}
	}
	if old != "" {
		return doubtful(s.Files.Rename(ctx, old, s.dir+"/"+name))
	}
	_, err = s.putFile(ctx, name, nil)
	return err
}

// replace stores a file in the place of an earlier one.
func (s *directoryStore) replace(ctx context.Context, name string, content []byte) error {
	err := s.discard(ctx, name)
	if err == nil {
		_, err = s.putFile(ctx, name, content)
	}
	return err
}

// Stop implements Store. The file is empty, so it needs only the NameNode.
func (s *directoryStore) Stop(ctx context.Context) error {
	_, err := s.putFile(ctx, stoppedFile, nil)
	return err
}

// Stopped implements Store.
func (s *directoryStore) Stopped(ctx context.Context) (bool, error) {
	err := s.patient(ctx, "look for a stop", func(ctx context.Context) error {
		_, err := s.Files.Stat(ctx, s.dir+"/"+stoppedFile)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// End implements Store. The end is the rename. If an attempt dies between the outcome and the rename, the application
// goes on with the next attempt, and the outcome is replaced.
func (s *directoryStore) End(ctx context.Context, o Outcome) error {
	content, err := encodeOutcome(o)
	if err == nil {
		err = s.replace(ctx, outcomeFile, content)
	}
	if err == nil {
		err = s.patient(ctx, "end the application", func(ctx context.Context) error {
			return s.Files.Rename(ctx, s.dir, s.at(place{s.Epoch, true}))
		})
	}
	if errors.Is(err, ErrEnded) { // the answer was lost
		return nil
	}
	return err
}

// Remove implements Store. If the application's directory is empty after that, Remove removes it too: it is one of its own
// in high-availability.storageDir.
func (s *directoryStore) Remove(ctx context.Context) error {
	return s.patient(ctx, "remove what is stored", func(ctx context.Context) error {
		entries, err := s.Files.List(ctx, s.Directory.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var places []string
		for _, e := range entries {
			if p, is := parsePlace(path.Base(e.URI)); is && p.epoch > s.Epoch {
				return superseded(p)
			} else if is {
				places = append(places, e.URI)
			}
		}
		for _, uri := range places {
			if err := s.Files.RemoveAll(ctx, uri); err != nil {
				return err
			}
		}
		if err = s.Files.Remove(ctx, s.Directory.Dir); errors.Is(err, filesystem.ErrNotEmpty) {
			return nil
		}
		return err
	})
}
