import type { Slots, Worker, Workers } from '../../lib/api'
import { bytes, clock, duration, percent, plural } from '../../lib/format'
import { ageOf } from '../../lib/master'
import { usePoll, usePolls } from '../../lib/poll'
import { href } from '../../lib/route'
import { Meter } from '../../parts/Meter'
import { Panel } from '../../parts/Panel'
import { AsOf, Empty, View } from '../../parts/States'
import { Table } from '../../parts/Table'
import type { Metric } from '../../parts/process/history'
import { budget, container } from '../../parts/process/Metrics'

/** The metrics of each worker are asked for one by one, so only some workers have them in the list. */
const mostMeasured = 32

const load = 'Status.Go.CPU.Load'

export function WorkerList() {
  const workers = usePoll<Workers>('taskmanagers', 4000)
  const slots = usePoll<Slots>('slots', 4000)
  return (
    <>
      <div class="page-head"><h1>Workers</h1></div>
      <Panel title="Registered workers" note={slots.data && sentence(slots.data)}>
        {!workers.error && <AsOf of={slots} />}
        <View of={workers} what="the workers">
          {({ taskmanagers }) => taskmanagers.length === 0 ? <None slots={slots.data} /> : <List workers={taskmanagers} at={workers.at ?? 0} />}
        </View>
      </Panel>
    </>
  )
}

function sentence(s: Slots): string {
  const parts = [`${plural(s.slotsTotal, 'slot')}, ${s.slotsAvailable} free`]
  if (s.containersStarting > 0) parts.push(`${plural(s.containersStarting, 'container')} starting`)
  if (s.containersRequested > 0) parts.push(`${plural(s.containersRequested, 'container')} asked for since ${clock(s.requestedSince)}`)
  if (s.refused !== '') parts.push(`YARN refuses: ${s.refused}`)
  return parts.join('; ')
}

function None({ slots }: { slots?: Slots }) {
  const open = (slots?.containersRequested ?? 0) + (slots?.containersStarting ?? 0)
  return (
    <Empty title="No worker is registered.">
      {open > 0 ? 'Containers are asked for or start now. Each one becomes a worker.' : 'A job gets workers when it needs slots, and a worker that is idle is released.'}
    </Empty>
  )
}

const shortOf = (id: string) => id.replace(/^container_(e\d+_)?\d+_/, '…')

function List({ workers, at }: { workers: Worker[]; at: number }) {
  const measured = workers.slice(0, mostMeasured)
  const polls = usePolls<Metric[]>(measured.map(metricsPath), 5000)
  const numbers = new Map(measured.map((w, i) => [w.id, numbersOf(w, polls[i]?.data ?? [])]))
  const heartbeat = (w: Worker) => ageOf(w.timeSinceLastHeartbeat, at)
  return (
    <>
      <AsOf of={polls} />
      <Table
        caption="Workers"
        rows={workers}
        id={(w) => w.id}
        columns={[
          { id: 'id', title: 'Worker', value: (w) => w.id, cell: (w) => <a class="worker-id" href={href('workers', w.id)} title={w.id}>{shortOf(w.id)}</a> },
          { id: 'host', title: 'Node', value: nodeOf },
          { id: 'slots', title: 'Slots in use', value: (w) => w.slotsNumber - w.freeSlots, cell: (w) => (
            <span class="worker-slots"><Meter label="Slots in use" max={w.slotsNumber} value={w.slotsNumber - w.freeSlots} tone="run" text={`${w.slotsNumber - w.freeSlots} of ${w.slotsNumber}`} /></span>
          ) },
          { id: 'memory', title: 'Memory in use, of the container', value: (w) => numbers.get(w.id)?.used ?? -1, cell: (w) => <Memory of={numbers.get(w.id)} worker={w} /> },
          { id: 'cpu', title: 'Processor', number: true, hint: 'Share of the machine that the worker process uses, without its task hosts', value: (w) => numbers.get(w.id)?.load ?? -1, cell: (w) => percent(numbers.get(w.id)?.load) },
          { id: 'heartbeat', title: 'Last heartbeat', number: true, value: heartbeat, cell: (w) => <Age ms={heartbeat(w)} /> },
        ]}
      />
      {workers.length > mostMeasured && <p class="small muted">Memory and processor are measured of the first {mostMeasured} workers. The page of each worker has its own.</p>}
    </>
  )
}

/** nodeOf is the host of a worker. Flink's path has it in an address. */
export const nodeOf = (w: Worker) => /@?([^@:/]+)(:\d+)?(\/.*)?$/.exec(w.path)?.[1] ?? w.path

/** A worker has a heartbeat each 10 s, and is lost after 50 s. */
const late = 30_000

export function Age({ ms: age }: { ms: number }) {
  return <span class={age > late ? 'worker-late' : undefined}>{age < 1000 ? 'now' : `${duration(age)} ago`}</span>
}

const metricsPath = (w: Worker) => `taskmanagers/${encodeURIComponent(w.id)}/metrics?get=${[container, budget, load].join(',')}`

interface Numbers {
  used?: number // bytes
  most: number
  load?: number // share of the machine
}

function numbersOf(w: Worker, metrics: Metric[]): Numbers {
  const by = new Map(metrics.map((m) => [m.id, Number(m.value)]))
  return { used: by.get(container), most: by.get(budget) || w.memoryConfiguration.totalProcessMemory, load: by.get(load) }
}

function Memory({ of, worker }: { of?: Numbers; worker: Worker }) {
  if (of?.used === undefined) return <span class="worker-memory">container of {bytes(worker.memoryConfiguration.totalProcessMemory)}</span>
  const { used, most } = of
  return <span class="worker-memory"><Meter label="Memory in use" max={most} value={used} tone={used > 0.95 * most ? 'bad' : 'c1'} text={`${bytes(used)} of ${bytes(most)}`} /></span>
}
