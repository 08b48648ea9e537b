package main

import (
	"slices"
	"time"
)

// Times of the recording as it is shown.
const (
	longestStill = time.Second            // a picture that stays longer is shown for this time
	shortest     = 300 * time.Millisecond // a picture that stays shorter is not shown, unless somebody types
	lastStill    = 5 * time.Second        // before it begins again
)

// film is a recording as it is shown.
type film struct {
	frames []frame
	lasts  time.Duration
}

// edit cuts the times in which nothing happens.
func edit(frames []frame) film {
	var f film
	for i, now := range frames {
		stays := lastStill
		if i+1 < len(frames) {
			stays = min(longestStill, frames[i+1].at-now.at)
			if stays < shortest && i > 0 && !now.typed { // the next one takes its place
				f.lasts += stays
				continue
			}
		}
		now.at = f.lasts
		f.frames = append(f.frames, now)
		f.lasts += stays
	}
	if len(f.frames) > 0 {
		f.frames[0].at = 0
	}
	return f
}

// step is a content of a line, or of another part of the picture, from a time on.
type step struct {
	at   time.Duration
	what int // index into the contents
}

// strip is one part of the picture: what it shows one after the other.
type strip struct {
	contents []string // each only once
	steps    []step
}

// add adds what the part shows from a time on.
func (s *strip) add(at time.Duration, content string) {
	what := slices.Index(s.contents, content)
	if what < 0 {
		what = len(s.contents)
		s.contents = append(s.contents, content)
	}
	if n := len(s.steps); n == 0 || s.steps[n-1].what != what {
		s.steps = append(s.steps, step{at, what})
	}
}
