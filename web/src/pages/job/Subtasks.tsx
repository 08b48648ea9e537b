import { useMemo } from 'preact/hooks'
import { bytes, clock, count, duration, percent } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { archivedLog, href } from '../../lib/route'
import { Badge } from '../../parts/Badge'
import { Loading, View } from '../../parts/States'
import type { Column } from '../../parts/Table'
import { Table } from '../../parts/Table'
import type { TabProps } from './tab'
import type { BackPressure, Measure, Subtask, VertexDetails } from './api'
import type { Shares } from './diagnosis'
import { doingWord } from './diagnosis'
import { SharesBar } from './SharesBar'
import type { Scale } from './measures'
import { amount, columnOf, scaleOf, timesWord, usualWord, valueOf } from './measures'
import { NoVertices } from './NoVertices'
import { useOpened } from './opened'
import { VertexPicker } from './VertexPicker'

/** SubtasksTab shows the subtasks of a vertex, and which of them has too much work. */
export function SubtasksTab(props: TabProps) {
  const { job, every } = props
  const vertex = useOpened(props)
  const path = vertex === undefined ? null : `jobs/${job.jid}/vertices/${vertex}`
  // Answers about thousands of subtasks are large: they are asked for less often.
  const interval = Math.max(every, 2 * (job.vertices.find((v) => v.id === vertex)?.parallelism ?? 0))
  // One answer has both: ten viewers would otherwise ask twice as often. An archive knows nothing of now, and has no parameters.
  const details = usePoll<VertexDetails>(path === null || props.history ? path : `${path}?backpressure=true`, interval)
  if (job.vertices.length === 0) return <NoVertices job={job} />
  if (vertex === undefined) return <Loading what="the vertices" />
  return (
    <section class="panel" aria-label="Subtasks">
      <div class="panel-body stack">
        <VertexPicker job={job} tab="subtasks" vertex={vertex} />
        <View of={details} what="the subtasks" gone="The job has ended, and had too many subtasks to keep all of them.">
          {(d) => <Rows key={d.id} details={d} pressure={d.backpressure} {...props} />}
        </View>
      </div>
    </section>
  )
}

interface Known extends Subtask {
  shares?: Shares
}

function Rows({ details, pressure, job, history, logs, summaries }: TabProps & { details: VertexDetails; pressure?: BackPressure }) {
  const n = details.subtasks.length
  const now = useMemo(() => new Map((pressure?.subtasks ?? []).map((s) => [s.subtask, { busy: s.busyRatio, pressed: s.ratio, idle: s.idleRatio, now: true }])), [pressure])
  const rows = useMemo(() => details.subtasks.map((s): Known => ({ ...s, shares: now.get(s.subtask) ?? whole(s) })), [details, now])
  const summary = summaries.get(details.id)
  const skew = summary?.skew
  const scales = useMemo(() => {
    const of = (measure: Measure) => scaleOf(measure, details.subtasks, summary?.spread?.[measure])
    return { 'read-records': of('read-records'), 'write-records': of('write-records'), 'read-bytes': of('read-bytes'), 'busy-time': of('busy-time') }
  }, [details, summary])
  const compared = (of: Measure, title: string, hint?: string): Column<Known>[] => (scales[of].most > 0
    ? [{ id: columnOf[of], title, hint, number: true, value: (s) => valueOf(of, s.metrics), cell: (s) => <Compared of={of} value={valueOf(of, s.metrics)} scale={scales[of]} /> }]
    : [])
  const columns: Column<Known>[] = [
    { id: 'subtask', title: 'Subtask', value: (s) => s.subtask, cell: (s) => <span class="nowrap"><strong>{s.subtask + 1}</strong> <span class="muted">of {n}</span></span> },
    { id: 'state', title: 'State', value: (s) => s.status, cell: (s) => <span class="nowrap"><Badge state={s.status} past={history} />{s.attempt > 0 && <span class="small muted"> attempt {s.attempt + 1}</span>}</span> },
    ...compared('read-records', 'Records in'),
    ...compared('read-bytes', 'Bytes in'),
    ...compared('write-records', 'Records out'),
    ...compared('busy-time', 'Busy time', 'Without the time in which it waited for input or for consumers'),
    { id: 'time', title: pressure?.subtasks ? 'Does now' : 'Spent its time', value: (s) => s.shares?.busy ?? -1, cell: (s) => s.shares && <span class="doing"><SharesBar shares={s.shares} /><span class="small">{doingWord(s.shares)}</span></span> },
    { id: 'host', title: 'Worker', value: (s) => s.host, cell: (s) => worker(s, history ? (logs ? archivedLog(job.jid, s['taskmanager-id']) : undefined) : href('workers', s['taskmanager-id'])) },
    { id: 'began', title: 'Began', value: (s) => s['start-time'], cell: (s) => <span class="nowrap">{clock(s['start-time'])}</span> },
    { id: 'duration', title: 'Duration', number: true, value: (s) => s.duration, cell: (s) => duration(s.duration) },
    ...(scales['write-records'].most > 0 ? [{ id: 'bytes-out', title: 'Bytes out', number: true, value: (s: Known) => s.metrics['write-bytes'], cell: (s: Known) => bytes(s.metrics['write-bytes']) }] : []),
  ]
  return (
    <>
      {skew
        ? <p class="note note-busy">{skew.words}</p>
        : n > 1 && summary?.spread && <p class="small muted">The work is spread over the subtasks without outliers.</p>}
      <Table
        caption={`Subtasks of ${details.name}`}
        columns={columns}
        rows={rows}
        id={(s) => String(s.subtask)}
        sort={skew ? { by: columnOf[skew.of], down: true } : undefined}
        mark={(s) => (skew?.subtask === s.subtask ? 'outlier' : undefined)}
      />
      <p class="small muted">
        {summary?.spread && summary.spread['read-records'].sum > 0 && `${count(summary.spread['read-records'].sum)} records in. `}
        Bars are relative to the largest{summary?.spread && n > 1 && `; the line is what is usual: ${usualWord(n)}`}.
      </p>
    </>
  )
}

/** worker names the worker of a subtask, with a link to its page or, of an archive, to its log. */
function worker(s: Subtask, link?: string) {
  if (s['taskmanager-id'] === '(unassigned)') return <span class="muted">none yet</span>
  const text = <>{s.host} <span class="small muted">{s['taskmanager-id'].split('_').at(-1)}</span></>
  return link === undefined ? <span class="nowrap" title={s['taskmanager-id']}>{text}</span> : <a class="nowrap" title={s['taskmanager-id']} href={link}>{text}</a>
}

/** whole is how a subtask has spent its time so far. */
function whole(s: Subtask): Shares | undefined {
  const m = s.metrics
  const sum = m['accumulated-busy-time'] + m['accumulated-idle-time'] + m['accumulated-backpressured-time']
  return sum > 0 ? { busy: m['accumulated-busy-time'] / sum, pressed: m['accumulated-backpressured-time'] / sum, idle: m['accumulated-idle-time'] / sum, now: false } : undefined
}

/** Compared shows a number with a bar, and marks an outlier with a word. */
function Compared({ of, value, scale: { most, usual, outlier } }: { of: Measure; value: number; scale: Scale }) {
  const far = usual !== undefined && value >= outlier
  return (
    <span class={`compared ${far ? 'compared-far' : ''}`} title={most > 0 ? `${percent(value / most)} of the largest` : undefined}>
      <span class="compared-bar" aria-hidden="true">
        <i style={{ width: `${most > 0 ? (100 * value) / most : 0}%` }} />
        {usual !== undefined && most > 0 && <b style={{ left: `${Math.min(100, (100 * usual) / most)}%` }} />}
      </span>
      <span class="compared-text">{amount(of, value)}{far && <em>{timesWord(value, usual)}</em>}</span>
    </span>
  )
}
