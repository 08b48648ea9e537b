import { useMemo } from 'preact/hooks'
import { hasEnded } from '../../lib/api'
import { count } from '../../lib/format'
import { questions } from '../../lib/metrics'
import { usePoll, usePolls } from '../../lib/poll'
import { Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import type { Column } from '../../parts/Table'
import { Table } from '../../parts/Table'
import type { TabProps } from './tab'
import type { Accumulator, Accumulators } from './api'
import { counterWord } from './measures'
import { useOpened } from './opened'
import { VertexPicker } from './VertexPicker'

/** CountersTab shows the counters of the job, and the metrics of a vertex, those of the program's code among them. */
export function CountersTab(props: TabProps) {
  const { job, history, every } = props
  const counters = usePoll<Accumulators>(`jobs/${job.jid}/accumulators`, every)
  return (
    <>
      <Panel title="Counters of the job" note={hasEnded(job.state) ? 'of tasks that have finished' : history ? 'as its archive was last written' : 'with what running tasks have counted so far'}>
        <View of={counters} what="the counters">
          {(c) => (c['user-task-accumulators'].length === 0
            ? <Empty title="The program counts nothing.">A program counts with <code>Subtask.Counter</code>. If tasks fail, their counts are dropped.</Empty>
            : <Table caption="Counters" columns={columns} rows={c['user-task-accumulators']} id={(a) => a.name} />)}
        </View>
      </Panel>
      {!history && !hasEnded(job.state) && <Metrics {...props} />}
    </>
  )
}

const columns: Column<Accumulator>[] = [
  { id: 'name', title: 'Counter', value: (a) => a.name, cell: (a) => <span class="config-value">{a.name}</span> },
  { id: 'value', title: 'Value', number: true, value: (a) => (Number.isFinite(Number(a.value)) ? Number(a.value) : a.value), cell: (a) => <span class="config-value">{counterWord(a.value)}</span> },
]

interface Metric {
  id: string
  min: number
  max: number
  avg: number
  sum: number
}

/** Answers have at most this many metrics, so that the address stays short. */
const most = 60

function Metrics(props: TabProps) {
  const { job, every } = props
  const vertex = useOpened(props, (v) => v.status === 'RUNNING')
  const path = vertex === undefined ? null : `jobs/${job.jid}/vertices/${vertex}/subtasks/metrics`
  const names = usePoll<{ id: string }[]>(path, 15_000)
  // Those of operators come first: they have their operator's name before the dot.
  const ids = useMemo(() => {
    const all = (names.data ?? []).map((m) => m.id).sort((a, b) => Number(b.includes('.')) - Number(a.includes('.')) || a.localeCompare(b))
    return all.slice(0, most)
  }, [names.data])
  const answers = usePolls<Metric[]>(path === null ? [] : questions(ids).map((list) => `${path}?get=${list}`), every)
  const values = answers.find((a) => a.data === undefined || a.error) ?? answers[0]
  if (vertex === undefined) return null
  return (
    <Panel title="Metrics of a vertex" note="over its subtasks">
      <div class="stack">
        <VertexPicker job={job} tab="counters" vertex={vertex} />
        <View of={names} what="the metrics">
          {(all) => (all.length === 0
            ? <Empty title="Its tasks have told nothing yet." />
            : values && (
              <View of={values} what="their values">
                {() => <Table caption="Metrics of the vertex" columns={metricColumns} rows={answers.flatMap((a) => a.data ?? [])} id={(m) => m.id} most={most} />}
              </View>
            ))}
        </View>
        {(names.data?.length ?? 0) > most && <p class="small muted">{most} of {names.data!.length} metrics. All are at <code>metrics</code> in Prometheus’ format.</p>}
      </div>
    </Panel>
  )
}

const shown = (n: number | undefined) => (n === undefined ? '–' : Math.abs(n) >= 100 || Number.isInteger(n) ? count(n) : n.toPrecision(3))
const number = (id: 'min' | 'avg' | 'max' | 'sum', title: string): Column<Metric> => ({ id, title, number: true, value: (m) => m[id], cell: (m) => shown(m[id]) })
const metricColumns: Column<Metric>[] = [
  { id: 'id', title: 'Metric', value: (m) => m.id, cell: (m) => <code>{m.id}</code> },
  number('min', 'Least'), number('avg', 'Mean'), number('max', 'Most'), number('sum', 'Sum'),
]
