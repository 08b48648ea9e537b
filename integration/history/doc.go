// Package history tests what remains of jobs: Flink's HistoryServer reads archives of Bobbin, and `bobbin history-server`
// shows the jobs of a real cluster. It has no other code, and nothing imports it.
package history
