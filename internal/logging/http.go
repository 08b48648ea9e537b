package logging

import (
	"log"
	"strings"

	"github.com/sirupsen/logrus"
)

// ForHTTP makes an http.Server's ErrorLog. Its messages are at the level debug: most are about clients that
// disconnect, or that do not know TLS.
func ForHTTP(logger logrus.FieldLogger) *log.Logger { return log.New(debugWriter{logger}, "", 0) }

type debugWriter struct{ logger logrus.FieldLogger }

func (w debugWriter) Write(p []byte) (int, error) {
	w.logger.WithField(lastField, strings.TrimSpace(string(p))).Debug("http connection")
	return len(p), nil
}
