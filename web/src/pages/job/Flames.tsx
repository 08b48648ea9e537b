import { FlameGraph } from '../../parts/FlameGraph'
import { Empty, Loading } from '../../parts/States'
import type { TabProps } from './tab'
import { NoVertices } from './NoVertices'
import { useOpened } from './opened'
import { VertexPicker } from './VertexPicker'

const types = [
  { title: 'On the processor', type: 'ON_CPU' },
  { title: 'Waiting', type: 'OFF_CPU' },
  { title: 'Both', type: 'FULL' },
]

/** FlamesTab shows what the tasks of a vertex do. */
export function FlamesTab(props: TabProps) {
  const { job, history } = props
  const shown = useOpened(props, (v) => v.status === 'RUNNING')
  if (history || job.state !== 'RUNNING') return <Empty title="The job does not run.">A flame graph shows what tasks do while they run.</Empty>
  if (job.vertices.length === 0) return <NoVertices job={job} />
  if (shown === undefined) return <Loading what="the vertices" />
  return (
    <section class="panel" aria-label="Flame graph">
      <div class="panel-body stack">
        <VertexPicker job={job} tab="flames" vertex={shown} />
        <FlameGraph
          key={shown} what="the tasks of this vertex" option="rest.flamegraph.enabled"
          choices={types.map((t) => ({ title: t.title, path: `jobs/${job.jid}/vertices/${shown}/flamegraph?type=${t.type}` }))}
        />
      </div>
    </section>
  )
}
