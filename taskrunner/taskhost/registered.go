package taskhost

import "github.com/bobbin-yarn/bobbin/dataflow"

// Registered is the Program of the jobs that are registered in this process (dataflow.Job).
type Registered struct{}

// Compile implements Program.
func (Registered) Compile(job string, args []byte, parallelism int, config map[string]string) (Compiled, error) {
	compiled, err := dataflow.Compile(job, args, dataflow.PlanOptions{Parallelism: parallelism, Config: config})
	if err != nil {
		return Compiled{}, err
	}
	return Compiled{Graph: compiled.Graph, Tasks: compiled.Tasks}, nil
}
