package client

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// timeOfMaster is a time in words of the ApplicationMaster (appmaster/rest/waiting.go): in UTC, and without the day if it is less
// than half a day away.
var timeOfMaster = regexp.MustCompile(`\b(?:\d{1,2} [A-Z][a-z]{2} \d{4} )?\d\d:\d\d:\d\d UTC\b`)

// localTimes writes the times in words of the ApplicationMaster in the time zone of now, as commands write all others.
func localTimes(words string, now time.Time) string {
	return timeOfMaster.ReplaceAllStringFunc(words, func(text string) string {
		if at, err := time.Parse("2 Jan 2006 15:04:05 MST", text); err == nil {
			return at.In(now.Location()).Format(time.DateTime)
		}
		if at, err := time.Parse("15:04:05 MST", text); err == nil {
			return nearest(at, now).In(now.Location()).Format(time.TimeOnly)
		}
		return text
	})
}

// nearest is the time nearest to now with this time of day in UTC. The zone of the reader may change its clocks between two days.
func nearest(ofDay, now time.Time) time.Time {
	year, month, day := now.UTC().Date()
	at := func(day int) time.Time {
		return time.Date(year, month, day, ofDay.Hour(), ofDay.Minute(), ofDay.Second(), 0, time.UTC)
	}
	return slices.MinFunc([]time.Time{at(day - 1), at(day), at(day + 1)}, func(a, b time.Time) int {
		return cmp.Compare(a.Sub(now).Abs(), b.Sub(now).Abs())
	})
}
