import { go } from '../../lib/route'
import { shortName } from './diagnosis'
import type { Job } from './api'

/** VertexPicker selects a vertex for a tab. */
export function VertexPicker({ job, tab, vertex }: { job: Job; tab: string; vertex: string }) {
  return (
    <label class="row vertex-picker">
      <span class="muted small">Vertex</span>
      <select class="input" value={vertex} onChange={(e) => go('jobs', job.jid, tab, e.currentTarget.value)}>
        {job.vertices.map((v, i) => <option key={v.id} value={v.id}>{i + 1}. {shortName(v.name, 90)} (×{v.parallelism})</option>)}
      </select>
    </label>
  )
}
