import { hasEnded } from '../../lib/api'
import { Empty } from '../../parts/States'
import type { Job } from './api'

/** NoVertices takes the place of what shows vertices, if the job has none to show. */
export function NoVertices({ job }: { job: Job }) {
  return hasEnded(job.state)
    ? <Empty title="This job has no vertices.">It ended before the ApplicationMaster had made them.</Empty>
    : <Empty title="This job has no vertices yet.">The ApplicationMaster makes them when it has stored the job, and opened its outputs.</Empty>
}
