package config

import "time"

// HighAvailability tells whether what an application has accepted outlives its ApplicationMaster
// (high-availability.type).
func HighAvailability(c Config) bool { return c.String(HighAvailabilityType) == HighAvailabilityYARN }

// AttemptFailuresValidity returns the age from which a failure of the ApplicationMaster does not
// count as an attempt; 0 means that all failures count.
func AttemptFailuresValidity(c Config) time.Duration {
	return max(0, time.Duration(c.Int(YarnAttemptFailuresValidity))*time.Millisecond)
}
