import './process.css'
import { bytes, count, percent, rate } from '../../lib/format'
import { Chart } from '../Chart'
import { AsOf, Broken, Empty, Loading } from '../States'
import { ratesOf, useSeen, type Seen } from './history'

const go = 'Status.Go.'
export const resident = 'Status.Process.Memory.Resident'
/** container is the memory of a worker with its task hosts; the master has none. */
export const container = 'Status.Container.Memory.Resident'
export const budget = 'Status.Process.Memory.Budget'
const used = `${go}Memory.Heap.Used`
const total = `${go}Memory.Total`
const limit = `${go}Memory.Heap.Max`
const load = `${go}CPU.Load`
const routines = `${go}Goroutines.Count`
const threads = `${go}Threads.Count`
const collections = `${go}GarbageCollector.All.Count`
const collecting = `${go}GarbageCollector.All.Time`

/** processMetrics are those that each process has. */
export const processMetrics = [resident, container, budget, used, total, limit, load, routines, threads, collections, collecting]

const known = (s: Seen, name: string) => (s.newest.get(name) ?? 0) > 0
const values = (s: Seen, name: string) => s.values.get(name) ?? []

/** ProcessCharts draws what a process uses. path is that of its metrics. */
export function ProcessCharts({ path }: { path: string }) {
  const seen = useSeen(path, processMetrics)
  if (seen.times.length === 0) return seen.polled.error ? <Broken what="the metrics" error={seen.polled.error} /> : <Loading what="the metrics" />
  if (seen.newest.size === 0) return <Empty title="No metrics have come yet.">They come with the next heartbeat.</Empty>
  return (
    <div class="stack">
      <AsOf of={seen.polled} />
      <div class="charts">
        <Chart title="Memory of the container" times={seen.times} format={bytes} series={[
          ...(known(seen, container) ? [{ name: 'in use', tone: 'c1', values: values(seen, container) }] : []),
          { name: known(seen, container) ? 'the worker itself' : 'in use', tone: known(seen, container) ? 'c5' : 'c1', values: values(seen, resident) },
          ...(known(seen, budget) ? [{ name: 'budget', tone: 'bad', values: values(seen, budget), dashed: true }] : []),
        ]} />
        <Chart title="Memory of Go" times={seen.times} format={bytes} series={[
          { name: 'heap', tone: 'c1', values: values(seen, used) },
          { name: 'all', tone: 'c3', values: values(seen, total) },
          ...(known(seen, limit) ? [{ name: 'limit', tone: 'bad', values: values(seen, limit), dashed: true }] : []),
        ]} />
        <Chart title="Processor, share of the machine" times={seen.times} format={percent} least={0.1} series={[{ name: 'load', tone: 'busy', values: values(seen, load) }]} />
        <Chart title="Garbage collection" times={seen.times} format={(n) => `${n.toFixed(1)} ms/s`} series={[
          { name: 'processor time', tone: 'c4', values: ratesOf(seen.times, values(seen, collecting)) },
        ]} />
        <Chart title="Collections" times={seen.times} format={(n) => rate(n)} series={[{ name: 'collections', tone: 'c4', values: ratesOf(seen.times, values(seen, collections)) }]} />
        <Chart title="Goroutines and threads" times={seen.times} format={count} series={[
          { name: 'goroutines', tone: 'c3', values: values(seen, routines) },
          { name: 'threads', tone: 'c5', values: values(seen, threads) },
        ]} />
      </div>
      <p class="muted small">The charts begin when this page was opened. Prometheus keeps more: GET /metrics.</p>
    </div>
  )
}
