package tokenmanager

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// logStep logs what happened to the tokens: one line a day for success, and one for each failed attempt.
func (m *Manager) logStep(event event, effects []effect) {
	m.logger.WithFields(logrus.Fields{"event": fmt.Sprintf("%T", event), "effects": len(effects)}).Debug("event")
	for _, effect := range effects {
		switch e := effect.(type) {
		case install:
			m.logger.WithFields(logrus.Fields{
				"tokens": len(e.Tokens.Tokens), "ends": stamp(e.Ends), "principal": m.config.Principal,
			}).Info("delegation tokens obtained")
		case tellFailure:
			m.logFailure(e)
		case tellEnd:
			m.logEnd(e)
		case obtain, usable:
		}
	}
}

func (m *Manager) logFailure(e tellFailure) {
	log := m.logger.WithError(e.Err).WithFields(logrus.Fields{
		"principal": m.config.Principal, "ends": stamp(e.Ends), "again": stamp(e.Again),
	})
	if e.Ended {
		log.Error("delegation tokens cannot be obtained, and all former ones have ended")
		return
	}
	log.Warn("delegation tokens cannot be obtained")
}

func (m *Manager) logEnd(e tellEnd) {
	log := m.logger.WithFields(logrus.Fields{
		"service": e.Service, "ends": stamp(e.Ends),
		"remedy": fmt.Sprintf("start the application with a keytab: %s, %s", config.KerberosKeytab, config.KerberosPrincipal),
	})
	if e.Ended {
		log.Error("delegation token has ended, and everything that needs it fails from now on")
		return
	}
	log.Warn("delegation token will end, and the application fails then at the latest")
}

// stamp formats a time for logs, in whole seconds; "none" for zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.Local().Format(time.RFC3339)
}
