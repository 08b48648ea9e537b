import type { Slots, Worker, Workers } from '../../lib/api'
import { bytes, clock, plural } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { href } from '../../lib/route'
import { Panel } from '../../parts/Panel'
import { AsOf, Empty, View } from '../../parts/States'

/** So many workers are drawn; a page with more would be a carpet. */
const mostDrawn = 400

/** SlotMap is a picture of the workers of each host and of their slots. */
export function SlotMap() {
  const workers = usePoll<Workers>('taskmanagers', 4000)
  const slots = usePoll<Slots>('slots', 4000)
  const asked = slots.data ? slots.data.containersRequested : 0
  const starting = slots.data ? slots.data.containersStarting : 0
  return (
    <Panel title="Slots and workers" note={workers.data && summary(workers.data)} actions={<a href={href('workers')}>All workers</a>}>
      <View of={workers} what="the workers">
        {(data) => (data.taskmanagers.length + asked + starting === 0
          ? <Empty title="There is no worker.">Bobbin asks YARN for workers when a job needs slots, and gives them back when they are idle.</Empty>
          : (
            <div class="stack">
              {!workers.error && <AsOf of={slots} />}
              <div class="hosts">
                {hostsOf(data.taskmanagers.slice(0, mostDrawn)).map(([host, list]) => (
                  <section key={host} class="host" aria-label={`Host ${host}`}>
                    <h3>{host}</h3>
                    <ul class="boxes">{list.map((w) => <Box key={w.id} worker={w} />)}</ul>
                  </section>
                ))}
                {asked + starting > 0 && (
                  <section class="host" aria-label="Workers to come">
                    <h3>To come</h3>
                    <ul class="boxes">
                      {Array.from({ length: Math.min(starting, 50) }, (_, i) => <li key={`s${i}`} class="box box-starting" title="This container is starting">starting</li>)}
                      {Array.from({ length: Math.min(asked, 50) }, (_, i) => <li key={`a${i}`} class="box box-asked" title="YARN was asked for this container">asked for</li>)}
                    </ul>
                  </section>
                )}
              </div>
              {asked > 0 && slots.data && <p class="small">{plural(asked, 'container')} of {slots.data.taskManagerMemoryMB} MB asked for since {clock(slots.data.requestedSince)}.</p>}
              {slots.data?.refused && <p class="small refused">YARN gives no container: {slots.data.refused}</p>}
              {data.taskmanagers.length > mostDrawn && <p class="small muted">{plural(data.taskmanagers.length - mostDrawn, 'more worker is', 'more workers are')} not drawn.</p>}
              <p class="legend small muted"><i class="slot slot-used" /> in use <i class="slot" /> free</p>
            </div>
          ))}
      </View>
    </Panel>
  )
}

function summary({ taskmanagers }: Workers): string {
  const all = taskmanagers.reduce((n, w) => n + w.slotsNumber, 0)
  const free = taskmanagers.reduce((n, w) => n + w.freeSlots, 0)
  return `${plural(taskmanagers.length, 'worker')}, ${all - free} of ${plural(all, 'slot')} in use`
}

function hostsOf(workers: Worker[]): [string, Worker[]][] {
  const hosts = new Map<string, Worker[]>()
  for (const w of workers) hosts.set(w.path, [...(hosts.get(w.path) ?? []), w])
  return [...hosts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
}

function Box({ worker: w }: { worker: Worker }) {
  const used = w.slotsNumber - w.freeSlots
  const words = `${w.id.split('_').at(-1)}: ${used} of ${plural(w.slotsNumber, 'slot')} in use, ${bytes(w.memoryConfiguration.totalProcessMemory)}`
  return (
    <li>
      <a class="box" href={href('workers', w.id)} title={words} aria-label={`Worker ${words}`}>
        <span class="box-name">{w.id.split('_').at(-1)?.replace(/^0+/, '')}</span>
        {w.slotsNumber <= 16
          ? Array.from({ length: w.slotsNumber }, (_, i) => <i key={i} class={`slot ${i < used ? 'slot-used' : ''}`} />)
          : <span class="small">{used}/{w.slotsNumber}</span>}
      </a>
    </li>
  )
}
