import type { ComponentChildren } from 'preact'
import type { Waiting } from '../../lib/api'
import { clock, plural, sentence } from '../../lib/format'
import type { Failure } from '../../lib/ask'
import { usePoll } from '../../lib/poll'
import { href } from '../../lib/route'
import type { TabProps } from './tab'
import type { Exceptions, Job, Skew, Slow, Summary } from './api'
import { mayWait, shortName } from './diagnosis'
import { mostSkewed } from './measures'
import { parseFailure, userFrame } from './stack'
import { Why } from './Why'

/** Verdict says in words what stands out: why the job failed, why it waits, how it runs, where it is slow. */
export function Verdict({ job, summaries, slow, history, every, restarts, troubled, tab }: TabProps & { restarts: number; troubled: boolean; tab: string }) {
  const exceptions = usePoll<Exceptions>(troubled ? `jobs/${job.jid}/exceptions` : null, Math.max(every, 5000))
  const waiting = usePoll<Waiting>(mayWait(job) && !history ? `jobs/${job.jid}/waiting` : null, every)
  const notes: ComponentChildren[] = []
  const performance = tab === 'graph' || tab === 'subtasks' || tab === 'timeline'
  if (troubled && tab !== 'exceptions') notes.push(<Failed key="failed" job={job} exceptions={exceptions.data} error={exceptions.error} restarts={restarts} />)
  if (waiting.data?.waiting) {
    const title = job.vertices.some((v) => v.tasks.RUNNING > 0) ? 'Why some of its tasks wait' : 'Why it waits'
    notes.push(
      <Note key="waiting" tone="warn" title={`${title}${waiting.data.since > 0 ? `, since ${clock(waiting.data.since)}` : ''}`}>
        <Why job={job.jid} waiting={waiting.data} />
        {job.left !== undefined && <p>{sentence(job.left)}</p>}
      </Note>,
    )
  } else if (job.left !== undefined) notes.push(<Note key="left" tone="warn" title="Why it waits"><p>{sentence(job.left)}</p></Note>)
  if (job.note !== undefined && performance) notes.push(<Note key="runs" tone="info" title="How it runs"><p>{sentence(job.note)}</p></Note>)
  if (!performance) return <div class="stack job-verdict">{notes}</div>
  if (slow) notes.push(<SlowNote key="slow" job={job} slow={slow} skew={tab === 'subtasks' ? undefined : summaries.get(slow.vertex)?.skew} />)
  if (job.state !== 'FAILED' && tab !== 'subtasks') notes.push(<Skewed key="skewed" job={job} summaries={summaries} but={slow?.vertex} />)
  return <div class="stack job-verdict">{notes}</div>
}

function Note({ tone, title, children }: { tone: 'bad' | 'warn' | 'busy' | 'info'; title: string; children: ComponentChildren }) {
  return (
    <section class={`note note-${tone}`} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

function Failed({ job, exceptions, error, restarts }: { job: Job; exceptions?: Exceptions; error?: Failure; restarts: number }) {
  const text = exceptions?.['root-exception']
  const failed = job.state === 'FAILED' || job.state === 'FAILING'
  const times = restarts === 1 ? 'once' : `${restarts} times`
  const title = failed ? 'Why it failed' : restarts > 0 ? `Why it has restarted ${times}` : 'Why tasks have failed'
  if (text === undefined && error && !error.away) return <Note tone="warn" title={title}><p>There is no answer for its exceptions: {error.message}</p></Note>
  if (text === undefined || text === null) return null
  const failure = parseFailure(text)
  const frame = userFrame(failure)
  const entries = exceptions?.exceptionHistory.entries ?? []
  const last = entries.find((one) => one.stacktrace === text || one.timestamp === exceptions?.timestamp) ?? entries[0]
  return (
    <Note tone={failed ? 'bad' : 'warn'} title={title}>
      <p class="note-cause note-lines">{failure.message}</p>
      {frame && <p>in <code>{frame.call}</code> at <code>{frame.place}</code></p>}
      {failure.more !== '' && <p class="note-lines">{failure.more}</p>}
      <p class="small">
        {last?.taskName !== undefined && <>Task {shortName(last.taskName, 90)} on {last.location}, </>}
        {clock(exceptions?.timestamp)}. {failed && restarts > 0 && `It had restarted ${times}. `}
        <a href={href('jobs', job.jid, 'exceptions')}>Stack and history</a>
      </p>
    </Note>
  )
}

function SlowNote({ job, slow, skew }: { job: Job; slow: Slow; skew?: Skew }) {
  return (
    <Note tone="busy" title={slow.waits ? 'Where it is slow' : 'Where its time goes'}>
      <p>{slow.words} <a href={href('jobs', job.jid, 'subtasks', slow.vertex)}>Its subtasks</a></p>
      {skew && <p>{skew.words}</p>}
    </Note>
  )
}

function Skewed({ job, summaries, but }: { job: Job; summaries: Map<string, Summary>; but?: string }) {
  const found = mostSkewed(job.vertices, summaries).filter(({ v }) => v.id !== but)
  const first = found[0]
  if (!first) return null
  return (
    <Note tone="busy" title="Uneven work">
      <p><a href={href('jobs', job.jid, 'subtasks', first.v.id)}>{shortName(first.v.name)}</a>: {first.skew.words}
        {found.length > 1 && ` ${plural(found.length - 1, 'more vertex is', 'more vertices are')} skewed: the graph marks them.`}</p>
    </Note>
  )
}
