import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { bytes, count, plural, short } from '../../lib/format'
import { ageOf } from '../../lib/master'
import { usePoll } from '../../lib/poll'
import { href } from '../../lib/route'
import type { Application, JobsOverview } from '../../lib/api'
import { Meter } from '../../parts/Meter'
import { Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import { Process } from '../../parts/process/Process'
import type { Hosts, WorkerDetails } from './api'
import { Age, nodeOf } from './List'

/** OneWorker shows a worker, and the task hosts that run on it. */
export function OneWorker({ id, tab, file }: { id: string; tab?: string; file?: string }) {
  const base = `taskmanagers/${encodeURIComponent(id)}`
  const worker = usePoll<WorkerDetails>(base, 3000)
  return (
    <>
      <div class="page-head">
        <h1>Worker <span class="worker-id">{id}</span></h1>
        <a href={href('workers')}>All workers</a>
      </div>
      <View of={worker} what="this worker" gone={<>It has ended: a worker that is idle is released. <EndedLogs worker={id} /> <a href={href('workers')}>All workers</a></>}>
        {(w) => (
          <>
            <p class="row worker-facts">
              <span>on <strong>{nodeOf(w)}</strong></span>
              <span>heartbeat <Age ms={ageOf(w.timeSinceLastHeartbeat, worker.at)} /></span>
              <span>{w.slotsNumber - w.freeSlots} of {plural(w.slotsNumber, 'slot')} in use</span>
              <span>container of {bytes(w.memoryConfiguration.totalProcessMemory)} and {plural(w.totalResource.cpuCores, 'core')}</span>
              {(w.metrics.partitions ?? 0) > 0 && <span>holds {plural(w.metrics.partitions!, 'partition')} of {bytes(w.metrics.partitionBytes)}</span>}
              <span class="muted">machine with {plural(w.hardware.cpuCores, 'core')} and {bytes(w.hardware.physicalMemory)}</span>
            </p>
            <Process
              what="the worker" page="workers" args={[id]} base={base} tab={tab} file={file}
              own={[
                { id: 'slots', title: 'Slots', show: () => <SlotsTab worker={w} /> },
                { id: 'hosts', title: 'Task hosts', show: () => <HostsTab worker={w} base={base} /> },
              ]}
              notes={{
                metrics: 'Its task hosts are processes of their own; the memory of the container is that of all of them.',
                logs: 'The output of a program is in taskhost-JOB.out.',
              }}
              choose={(show) => <OfProcess worker={w} base={base}>{show}</OfProcess>}
            />
          </>
        )}
      </View>
    </>
  )
}

/** EndedLogs tells where the logs of a worker are that has ended: its node keeps them until YARN collects them at the application's end. */
function EndedLogs({ worker }: { worker: string }) {
  const app = usePoll<Application>('application', 60_000).data
  return app?.id === undefined ? null : <>Its logs are still there: <code>bobbin logs --container {worker} {app.id}</code>.</>
}

/** OfProcess lets the reader choose the worker or one of its task hosts. */
function OfProcess({ worker, base, children }: { worker: WorkerDetails; base: string; children: (host: string) => ComponentChildren }) {
  const hosts = usePoll<Hosts>(`${base}/hosts`, 10_000)
  const [chosen, choose] = useState<string>()
  const list = hosts.data?.hosts ?? []
  const first = list[0]?.id ?? '' // the user's code is in the hosts
  useEffect(() => {
    if (!hosts.loading && chosen === undefined) choose(first) // a host that starts later does not take its place
  }, [hosts.loading])
  if (chosen === undefined) return null
  const host = chosen
  return (
    <div class="stack">
      <label class="row small">
        Process
        <select class="input" value={host} onChange={(e) => choose(e.currentTarget.value)}>
          {list.map((h) => <option key={h.id} value={h.id}>task host of job {short(h.job)}: {h.id.slice(worker.id.length + 1)}</option>)}
          {host !== '' && !list.some((h) => h.id === host) && <option value={host}>a task host that has ended: {host.slice(worker.id.length + 1)}</option>}
          <option value="">the worker itself</option>
        </select>
      </label>
      {children(host)}
    </div>
  )
}

function useNames(): Map<string, string> {
  const jobs = usePoll<JobsOverview>('jobs/overview', 5000)
  return new Map((jobs.data?.jobs ?? []).map((j) => [j.jid, j.name]))
}

function SlotsTab({ worker }: { worker: WorkerDetails }) {
  const names = useNames()
  const r = worker.totalResource
  const plan = worker.memoryConfiguration.totalProcessMemory
  const parts = [
    { name: 'heap of tasks', tone: 'c1', value: r.taskHeapMemory * 1024 ** 2 },
    { name: 'managed', tone: 'c3', value: r.managedMemory * 1024 ** 2 },
    { name: 'network buffers', tone: 'c2', value: r.networkMemory * 1024 ** 2 },
  ]
  return (
    <div class="grid">
      <Panel title="Slots">
        <div class="worker-slot-list">
          {worker.allocatedSlots.map((s, i) => (
            <a key={i} class="worker-slot" href={href('jobs', s.jobId)}><strong>{names.get(s.jobId) ?? short(s.jobId)}</strong><span class="small muted">job {short(s.jobId)}</span></a>
          ))}
          {Array.from({ length: worker.freeSlots }, (_, i) => <span key={`free ${i}`} class="worker-slot worker-slot-free">free</span>)}
        </div>
      </Panel>
      <Panel title="How the container's memory is divided" note={`${bytes(plan)} in all`}>
        <div class="memory-plan">
          {parts.map((p) => <Meter key={p.name} label={p.name} max={plan} value={p.value} tone={p.tone} text={`${bytes(p.value)} ${p.name}`} />)}
          <p class="muted small">The rest is for the worker process, program text, stacks and the kernel.</p>
        </div>
      </Panel>
    </div>
  )
}

function HostsTab({ worker, base }: { worker: WorkerDetails; base: string }) {
  const hosts = usePoll<Hosts>(`${base}/hosts`, 5000)
  const names = useNames()
  return (
    <Panel title="Task hosts" note="A task host is a process that runs the program of one job.">
      <View of={hosts} what="the task hosts">
        {({ hosts }) => hosts.length === 0 ? <Empty title="No task host runs here.">One starts when a job gets a slot of this worker.</Empty> : (
          <ul class="stack">
            {hosts.map((h) => (
              <li key={h.id} class="row">
                <span class="worker-id">{h.id}</span>
                <a href={href('jobs', h.job)}>{names.get(h.job) ?? short(h.job)}</a>
                {(h.memoryBudget ?? -1) > 0 && (
                  <span class="worker-memory"><Meter label="Memory in use" max={h.memoryBudget!} value={h.residentMemory} tone={h.residentMemory! > h.memoryBudget! ? 'bad' : 'c1'} text={`${bytes(h.residentMemory)} of ${bytes(h.memoryBudget)}`} /></span>
                )}
                <span class="muted small">{count(worker.allocatedSlots.filter((s) => s.jobId === h.job).length)} of its slots are here</span>
                <a class="small" href={href('workers', worker.id, 'logs', `taskhost-${h.job}.out`)}>output</a>
              </li>
            ))}
          </ul>
        )}
      </View>
    </Panel>
  )
}
