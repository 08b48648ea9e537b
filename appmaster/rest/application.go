package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// application answers GET /application: what YARN and this process know of the application.
func (s *Server) application(r *http.Request) (any, error) {
	d, err := s.gateway.Application(r.Context())
	if err != nil {
		return nil, err
	}
	answer := restapi.Application{
		ID: d.ID, Name: d.Name, Type: d.Type, User: d.User, Queue: d.Queue, Mode: d.Mode, Attempt: d.Attempt,
		Submitted: millis(d.Submitted), Started: millis(d.Started), TrackingURL: d.TrackingURL, Address: d.Address, ResourceManager: d.ResourceManager,
		HighAvailability: d.HighAvailability, LogURL: d.LogURL, Version: s.config.Version, Revision: s.config.Revision,
		Attempts: attemptsOf(d.Attempts), Tokens: make([]restapi.Token, len(d.Tokens)),
	}
	for i, t := range d.Tokens {
		answer.Tokens[i] = restapi.Token{Kind: t.Kind, Service: t.Service, Renewer: t.Renewer, End: millis(t.Ends)}
	}
	return answer, nil
}

// start answers GET /start: where the time of the start of this attempt went.
func (s *Server) start(r *http.Request) (any, error) {
	spans, err := s.gateway.Start(r.Context())
	if err != nil {
		return nil, err
	}
	return spansOf(spans), nil
}

// jobStart answers GET /jobs/{job}/start: where the time of the start of a job went.
func (s *Server) jobStart(r *http.Request) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	spans, err := s.gateway.JobStart(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return spansOf(spans), nil
}

func spansOf(spans []msg.Span) []restapi.Span {
	answer := make([]restapi.Span, len(spans))
	for i, span := range spans {
		answer[i] = restapi.Span{Name: span.Name, Begin: millis(span.Begin), Detail: span.Detail}
		if !span.End.IsZero() {
			end := span.End.UnixMilli()
			answer[i].End = &end
		}
	}
	return answer
}
