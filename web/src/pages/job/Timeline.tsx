import './timeline.css'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { TaskState } from '../../lib/api'
import { hasEnded } from '../../lib/api'
import { clock, duration, plural } from '../../lib/format'
import type { Polled } from '../../lib/poll'
import { usePoll } from '../../lib/poll'
import { stateWord } from '../../parts/Badge'
import { StartLine } from '../../parts/StartLine'
import { Empty, View } from '../../parts/States'
import type { TabProps } from './tab'
import type { Job, SubtaskTimes, Timeline } from './api'
import { shortName } from './diagnosis'
import { draw, labelWidth, rowHeight, axisHeight } from './drawing'
import type { Row } from './timeline'
import { ofTimes, rowsOf, subtaskWord } from './timeline'

/** TimelineTab shows when each attempt of each subtask was in which state. */
export function TimelineTab({ job, vertex, every, history }: TabProps) {
  const path = `jobs/${job.jid}/timeline`
  const answer = usePoll<Timeline>(path, Math.max(every, 5000))
  const older = useTimes(job, answer.gone)
  const [only, choose] = useState(vertex ?? '')
  const cut = answer.data?.vertices.some((v) => v.id === only && (v.omitted ?? 0) > 0) // an archive has only the answer about all vertices
  const whole = usePoll<Timeline>(cut && !history ? `${path}?vertex=${only}` : null, Math.max(every, 5000))
  return (
    <>
      <StartLine path={`jobs/${job.jid}/start`} title="The start of the job" every={Math.max(every, 5000)} now={job.now} />
      <section class="panel" aria-label="Time line">
        <div class="panel-body stack">
          <View of={answer.gone ? older : whole.data ? whole : answer} what="the time line">
            {(t) => <Rows job={job} timeline={t} only={only} choose={choose} going={!hasEnded(job.state) && !history} />}
          </View>
        </div>
      </section>
    </>
  )
}

/** useTimes asks vertex by vertex: an archive of Flink has no answer for all of them. */
function useTimes(job: Job, needed: boolean): Polled<Timeline> {
  const [all, add] = useState<SubtaskTimes[]>([])
  const next = needed ? job.vertices[all.length] : undefined
  const times = usePoll<SubtaskTimes>(next ? `jobs/${job.jid}/vertices/${next.id}/subtasktimes` : null, 60_000)
  useEffect(() => {
    if (next && times.data?.id === next.id) add([...all, times.data])
  }, [times.data, next])
  const done = all.length === job.vertices.length
  const data = useMemo(() => (done ? ofTimes(all) : undefined), [all, done])
  return { data, error: times.error, loading: !done, gone: times.gone }
}

const legend: TaskState[] = ['CREATED', 'SCHEDULED', 'DEPLOYING', 'RUNNING', 'CANCELING', 'FAILED', 'CANCELED', 'FINISHED']

function Rows({ job, timeline, only, choose, going }: { job: Job; timeline: Timeline; only: string; choose: (vertex: string) => void; going: boolean }) {
  const rows = useMemo(() => {
    const vertices = timeline.vertices.filter((v) => only === '' || v.id === only)
    return rowsOf({ ...timeline, vertices }, timeline.now, new Map(job.vertices.map((v) => [v.id, v.parallelism])))
  }, [timeline, only])
  // A job that was recovered began long before the attempts that this master knows.
  const first = rows.reduce((min, r) => Math.min(min, r.kind === 'vertex' ? r.from : Infinity), Infinity)
  const from = Number.isFinite(first) ? first : job['start-time']
  const to = Math.max(from + 1, going ? timeline.now : rows.reduce((max, r) => Math.max(max, r.kind === 'vertex' ? r.to : 0), job['end-time']))
  const [at, select] = useState<number>()
  const attempts = rows.length - timeline.vertices.filter((v) => only === '' || v.id === only).length
  if (attempts === 0) return <Empty title="There are no attempts.">No task has been scheduled yet, or the job had too many subtasks to keep all of them.</Empty>
  return (
    <>
      <div class="row timeline-head">
        <label class="row vertex-picker">
          <span class="muted small">Vertices</span>
          <select class="input" value={only} onChange={(e) => { choose(e.currentTarget.value); select(undefined) }}>
            <option value="">all</option>
            {job.vertices.map((v, i) => <option key={v.id} value={v.id}>{i + 1}. {shortName(v.name, 90)}</option>)}
          </select>
        </label>
        <span class="row small timeline-legend">
          {legend.map((s) => <span key={s}><i class={`tl tl-${s.toLowerCase()}`} />{stateWord(s)}</span>)}
        </span>
      </div>
      <Canvas rows={rows} from={from} to={to} at={at} select={select} label={`Time line of ${plural(attempts, 'attempt')}. Arrow keys go from row to row.`} />
      <p class="timeline-words small" role="status">{at !== undefined && rows[at] ? describe(rows[at], timeline, from) : `${plural(attempts, 'attempt')}, from ${clock(from)} to ${clock(to)}. Point at a row, or go to it with the arrow keys, to read its times.`}</p>
      {timeline.omitted > 0 && (
        <p class="small muted">
          {plural(timeline.omitted, 'attempt is', 'attempts are')} left out, because a time line has room for 5,000. Each vertex shows those of its attempts that lasted
          longest. {only === '' ? 'Choose a vertex to see more of it; the' : 'The'} tab Subtasks has all subtasks.
        </p>
      )}
    </>
  )
}

function describe(row: Row, t: Timeline, from: number): string {
  if (row.kind === 'vertex') return `${row.name}: ${plural(row.attempts, 'attempt')}${row.omitted > 0 ? `, and ${plural(row.omitted, 'that is', 'that are')} left out` : ''}${row.to > 0 ? `, ${duration(row.to - row.from)} from ${clock(row.from)}` : ''}`
  const a = row.attempt
  const worker = t.workers[a.worker]
  const times = row.bars.map((b) => `${stateWord(b.state)} ${duration(b.to - b.from)}`).join(', ')
  return `${row.vertex}, subtask ${subtaskWord(a.subtask, row.subtasks)}, attempt ${a.attempt + 1}: ${stateWord(a.status)}. ${worker ? `${worker.host} ${worker.id}. ` : ''}From +${duration(Math.max(0, (row.bars[0]?.from ?? from) - from))}: ${times}.`
}

interface CanvasProps {
  rows: Row[]
  from: number
  to: number
  at?: number
  select: (row: number | undefined) => void
  label: string
}

/** Canvas draws the rows that are in view only: there may be thousands. */
function Canvas({ rows, from, to, at, select, label }: CanvasProps) {
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const latest = useRef({ rows, from, to, at })
  latest.current = { rows, from, to, at }
  const pending = useRef(0)
  const later = () => {
    cancelAnimationFrame(pending.current)
    pending.current = requestAnimationFrame(() => {
      if (box.current && canvas.current) draw(canvas.current, box.current, latest.current)
    })
  }
  useLayoutEffect(() => {
    const resized = new ResizeObserver(later)
    resized.observe(box.current!)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', later)
    return () => {
      cancelAnimationFrame(pending.current)
      resized.disconnect()
      dark.removeEventListener('change', later)
    }
  }, [])
  useLayoutEffect(later, [rows, from, to, at])
  const rowAt = (y: number) => {
    const row = Math.floor((y - box.current!.getBoundingClientRect().top - axisHeight + box.current!.scrollTop) / rowHeight)
    return row >= 0 && row < rows.length && y >= box.current!.getBoundingClientRect().top + axisHeight ? row : undefined
  }
  const keys: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -rows.length, End: rows.length }
  return (
    <div
      ref={box}
      class="timeline-box"
      tabIndex={0}
      role="application"
      aria-label={label}
      style={{ '--rows': rows.length, '--row': `${rowHeight}px`, '--axis': `${axisHeight}px`, '--labels': `${labelWidth}px` }}
      onScroll={later}
      onPointerMove={(e) => select(rowAt(e.clientY))}
      onPointerDown={(e) => select(rowAt(e.clientY))}
      onKeyDown={(e) => {
        const by = keys[e.key]
        if (by === undefined) return
        e.preventDefault()
        const row = Math.min(rows.length - 1, Math.max(0, (at ?? -1) + by))
        select(row)
        const host = box.current!
        const top = row * rowHeight
        const room = host.clientHeight - axisHeight
        if (top < host.scrollTop) host.scrollTop = top
        else if (top + rowHeight > host.scrollTop + room) host.scrollTop = top + rowHeight - room
      }}
    >
      <canvas ref={canvas} class="timeline-canvas" />
      <div class="timeline-room" />
    </div>
  )
}
