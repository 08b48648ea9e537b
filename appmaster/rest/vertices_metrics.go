package rest

import (
	"errors"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// watermarks answers GET …/vertices/{vertex}/watermarks. A batch job has none.
func (s *Server) watermarks(r *http.Request) (any, error) {
	if _, err := s.vertexSubtasks(r); err != nil {
		return nil, err
	}
	return []restapi.Metric{}, nil
}

// Flink's levels of back-pressure, and the least share of the time above which a task is at a level.
const (
	levelOK, levelLow, levelHigh = "ok", "low", "high"
	aboveOK, aboveLow            = 0.1, 0.5
)

func levelOf(ratio float64) string {
	switch {
	case ratio <= aboveOK:
		return levelOK
	case ratio <= aboveLow:
		return levelLow
	}
	return levelHigh
}

// backPressure answers GET …/vertices/{vertex}/backpressure: the level of the task that waits most for its consumers. As
// Flink, it answers that nothing was measured if the tasks have ended, or if there is no such job or vertex.
func (s *Server) backPressure(r *http.Request) (any, error) {
	v, err := s.vertexSubtasks(r)
	if err != nil && !errors.Is(err, msg.ErrJobNotFound) && !errors.Is(err, msg.ErrVertexNotFound) && !errors.Is(err, msg.ErrSubtasksGone) {
		return nil, err
	}
	return backPressureOf(v, time.Now()), nil
}

func backPressureOf(v msg.VertexSubtasks, now time.Time) restapi.BackPressure {
	answer := restapi.BackPressure{Status: "deprecated"}
	most := 0.
	for i := range v.Subtasks {
		shares, is := v.Subtasks[i].Sample.Shares()
		if !is {
			continue
		}
		level := levelOf(shares.BackPressured)
		answer.Subtasks = append(answer.Subtasks, restapi.SubtaskBackPressure{
			Subtask: i, Level: level, LevelAgain: level, Ratio: shares.BackPressured, IdleRatio: shares.Idle, BusyRatio: shares.Busy,
		})
		most = max(most, shares.BackPressured)
	}
	if len(answer.Subtasks) > 0 {
		answer.Status, answer.EndTimestamp = "ok", now.UnixMilli()
		answer.Level, answer.LevelAgain = levelOf(most), levelOf(most)
	}
	return answer
}
