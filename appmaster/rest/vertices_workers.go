package rest

import (
	"cmp"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// vertexTaskManagers answers GET …/vertices/{vertex}/taskmanagers: the subtasks of each worker together, in the order of
// their first subtasks.
func (s *Server) vertexTaskManagers(r *http.Request) (any, error) {
	v, err := s.vertexSubtasks(r)
	if err != nil {
		return nil, err
	}
	return vertexTaskManagersOf(v, time.Now()), nil
}

func vertexTaskManagersOf(v msg.VertexSubtasks, now time.Time) restapi.VertexTaskManagers {
	var workers []string
	attempts := make(map[string][]restapi.SubtaskAttempt)
	for i := range v.Subtasks {
		a := attemptOf(i, &v.Subtasks[i].TaskAttempt, now)
		if attempts[a.TaskManagerID] == nil {
			workers = append(workers, a.TaskManagerID)
		}
		attempts[a.TaskManagerID] = append(attempts[a.TaskManagerID], a)
	}
	answer := restapi.VertexTaskManagers{ID: v.ID, Name: v.Name, Now: now.UnixMilli(), TaskManagers: make([]restapi.VertexTaskManager, 0, len(workers))}
	for _, w := range workers {
		answer.TaskManagers = append(answer.TaskManagers, taskManagerWith(attempts[w], now))
	}
	return answer
}

// taskManagerWith describes the worker of attempts.
func taskManagerWith(all []restapi.SubtaskAttempt, now time.Time) restapi.VertexTaskManager {
	info := restapi.VertexTaskManager{
		Endpoint: all[0].Endpoint, Host: all[0].Host, TaskManagerID: all[0].TaskManagerID, StartTime: -1, EndTime: -1, Duration: -1,
		StatusCounts: make(map[msg.ExecutionState]int), Aggregated: aggregatedOf(all),
	}
	for _, state := range executionStates() {
		info.StatusCounts[state] = 0
	}
	var traffic msg.Traffic
	var times msg.TaskTimes
	ended, last := true, int64(0)
	for _, a := range all {
		info.StatusCounts[a.Status]++
		if a.StartTime >= 0 && (info.StartTime < 0 || a.StartTime < info.StartTime) {
			info.StartTime = a.StartTime
		}
		ended = ended && a.Status.Final()
		last = max(last, a.EndTime)
		m := a.Metrics
		traffic.Add(msg.Traffic{ReadRecords: m.ReadRecords, WriteRecords: m.WriteRecords, ReadBytes: m.ReadBytes, WriteBytes: m.WriteBytes})
		times.Add(msg.TaskTimes{
			Busy: time.Duration(m.BusyTime) * time.Millisecond, Idle: time.Duration(m.IdleTime) * time.Millisecond,
			BackPressured: time.Duration(m.BackpressuredTime) * time.Millisecond,
		})
	}
	info.Metrics = ioOf(traffic, times)
	info.Status = msg.VertexState(info.StatusCounts, len(all))
	if info.StartTime >= 0 {
		if ended {
			info.EndTime = last
		}
		info.Duration = cmp.Or(max(info.EndTime, 0), now.UnixMilli()) - info.StartTime
	}
	return info
}
