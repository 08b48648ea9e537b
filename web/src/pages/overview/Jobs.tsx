import { useRef, useState } from 'preact/hooks'
import type { Config, JobsOverview, JobSummary, Slots, Waiting } from '../../lib/api'
import { hasEnded } from '../../lib/api'
import { clock, duration, plural, sentence, short } from '../../lib/format'
import { intervalOf } from '../../lib/interval'
import { usePoll, usual } from '../../lib/poll'
import { progressOf } from '../../lib/progress'
import { href } from '../../lib/route'
import { useVisible } from '../../lib/visible'
import { Badge, stateWord } from '../../parts/Badge'
import { Holders } from '../../parts/Holders'
import { Meter } from '../../parts/Meter'
import { Panel } from '../../parts/Panel'
import { AsOf, Empty, View } from '../../parts/States'
import { Words } from '../../parts/Words'
import type { Vertices } from './api'

const step = 25

/** Of so many jobs that the reader sees, the overview asks how far they are, where they are slow, and why they wait or have failed. */
const mostAsked = 12

/** ordered puts jobs that go on before those that have ended, and new ones before old ones. In an archive no job goes on. */
export function ordered(jobs: JobSummary[], history: boolean): JobSummary[] {
  const first = (j: JobSummary) => Number(!history && !hasEnded(j.state))
  return [...jobs].sort((a, b) => first(b) - first(a) || b['start-time'] - a['start-time'])
}

/** Jobs lists the jobs: their state, how far they are, where they are slow, and why they wait or have failed. */
export function Jobs({ history }: { history: boolean }) {
  const config = usePoll<Config>('config', 60_000).data
  const answer = usePoll<JobsOverview>('jobs/overview', intervalOf(config, usual))
  const slots = usePoll<Slots>(history ? null : 'slots', 4000)
  const [words, find] = useState('')
  const [most, more] = useState(step)
  return (
    <Panel
      title={history ? 'Jobs that have ended' : 'Jobs'}
      note={answer.data && counts(answer.data.jobs, history)}
      actions={(answer.data?.jobs.length ?? 0) > 8 && (
        <input class="input" type="search" placeholder="Name, id or state" aria-label="Find jobs by name, id or state" value={words} onInput={(e) => find(e.currentTarget.value)} />
      )}
    >
      <View of={answer} what="the jobs">
        {({ jobs }) => {
          if (jobs.length === 0) return <NoJobs history={history} />
          const found = ordered(jobs, history).filter((j) => `${j.name} ${j.jid} ${j.state}`.toLowerCase().includes(words.trim().toLowerCase()))
          const waits = new Set(slots.data?.jobs.filter((d) => d.waitsSince >= 0).map((d) => d.jid))
          return (
            <>
              {!answer.error && <AsOf of={slots} />}
              <List jobs={found.slice(0, most)} waits={waits} history={history} />
              {found.length === 0 && <Empty title={`No job has “${words}” in its name, id or state.`} />}
              {found.length > most && <button type="button" class="button" onClick={() => more(most + 4 * step)}>Show more: {plural(found.length - most, 'job is', 'jobs are')} left</button>}
            </>
          )
        }}
      </View>
    </Panel>
  )
}

/** List asks more about the first jobs that the reader sees: a session may have a thousand that wait. */
function List({ jobs, waits, history }: { jobs: JobSummary[]; waits: ReadonlySet<string>; history: boolean }) {
  const { box, visible } = useVisible<HTMLUListElement>(jobs.map((j) => j.jid))
  const asked = new Set(jobs.filter((j) => visible.has(j.jid)).slice(0, mostAsked).map((j) => j.jid))
  return (
    <ul class="jobs" ref={box}>
      {jobs.map((j) => <Job key={j.jid} job={j} waits={waits.has(j.jid)} asks={asked.has(j.jid)} history={history} />)}
    </ul>
  )
}

function NoJobs({ history }: { history: boolean }) {
  const session = usePoll<Config>('config', 60_000).data?.features['web-submit'] === true
  if (history) return <Empty title="No job is archived yet.">A job appears here when it has ended, if <code>jobmanager.archive.fs.dir</code> is set for it.</Empty>
  if (!session) return <Empty title="There is no job yet.">The program of this application has not submitted one.</Empty>
  return <Empty title="There is no job.">Run one with <code>bobbin run</code>, or upload a program on the <a href={href('session')}>session's page</a>.</Empty>
}

/** counts says how many jobs are in which state. */
export function counts(jobs: JobSummary[], history: boolean): string {
  const of = (state: string) => jobs.filter((j) => j.state === state).length
  const words = [
    [jobs.filter((j) => !hasEnded(j.state)).length, history ? 'without an end' : 'going on'], [of('FINISHED'), 'finished'], [of('FAILED'), 'failed'], [of('CANCELED'), 'canceled'],
  ] as const
  return words.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`).join(', ')
}

function Job({ job, waits, asks, history }: { job: JobSummary; waits: boolean; asks: boolean; history: boolean }) {
  const over = hasEnded(job.state)
  const runs = !history && job.state === 'RUNNING' && job.tasks.running > 0
  const answer = usePoll<Vertices>(asks && runs ? `jobs/${job.jid}/vertices` : null, 4000)
  const kept = useRef<Vertices>(undefined) // a row that leaves the screen keeps its height
  if (answer.data) kept.current = answer.data
  const slow = runs ? kept.current?.slow : undefined
  const progress = progressOf(job.state, job.tasks, kept.current?.vertices)
  return (
    <li class="job-row" data-key={job.jid}>
      <span class="job-name">
        <a href={href('jobs', job.jid)}>{job.name}</a>
        <span class="mono muted small" title={job.jid}>{short(job.jid)}</span>
      </span>
      <span><Badge state={waits && job.tasks.running === 0 ? 'waiting' : job.state} tone={waits && job.tasks.running === 0 ? 'warn' : undefined} past={history} /></span>
      <span class="job-meter">
        {progress && <Meter label={`Progress of ${job.name}`} max={progress.all} value={progress.done} tone={job.state === 'FAILED' ? 'bad' : job.state === 'FINISHED' ? 'good' : over || history ? 'quiet' : 'run'} text={progress.words} />}
      </span>
      <Times job={job} history={history} />
      {slow && (
        <p class={`job-why small ${slow.waits || slow.alone ? 'job-slow' : 'muted'}`}>{sentence(slow.brief)} <a href={href('jobs', job.jid, 'graph')}>Its graph</a></p>
      )}
      {waits && <WhyItWaits jid={job.jid} asks={asks} />}
      {job.state === 'FAILED' && <WhyItFailed jid={job.jid} asks={asks} />}
    </li>
  )
}

/** Times says how long a job took, or since when it goes on. An archive without an end is what was known when it was written. */
export function Times({ job, history }: { job: JobSummary; history: boolean }) {
  const over = hasEnded(job.state)
  const began = clock(job['start-time'])
  return (
    <>
      <span class="num small">{over ? `took ${duration(job.duration)}` : history ? `had run ${duration(job.duration)}` : `for ${duration(job.duration)}`}</span>
      <span class="num small muted">{over ? `ended ${clock(job['end-time'])}` : history ? `began ${began}` : `since ${began}`}</span>
      {!over && history && <p class="job-why small muted">{sentence(`${stateWord(job.state)} when last written, at ${clock(job['last-modification'])}`)} Its archive has no end.</p>}
    </>
  )
}

function WhyItWaits({ jid, asks }: { jid: string; asks: boolean }) {
  const waiting = usePoll<Waiting>(asks ? `jobs/${jid}/waiting` : null, 4000)
  const slots = usePoll<Slots>('slots', 4000)
  const kept = useRef<Waiting>(undefined) // a row that leaves the screen keeps its height
  if (asks && waiting.data) kept.current = waiting.data
  const data = kept.current
  if (!data?.waiting) return null
  const first = data.reasons[0]
  return (
    <p class="job-why job-waits small">
      <strong>Waits since {clock(data.since)}:</strong> <Words text={first?.words ?? data.words} />.
      {first && first.remedy !== '' && <> <span class="muted">To help: <Words text={first.remedy} />.</span></>}
      {data.reasons.some((r) => r.reason === 'OTHER_JOBS') && <> <Holders slots={slots.data} job={jid} /></>}
      {waiting.staleSince !== undefined && <span class="muted"> (as of {clock(waiting.staleSince)})</span>}
    </p>
  )
}

/** WhyItFailed is the first line of the failure; the page of the job has the stack. */
function WhyItFailed({ jid, asks }: { jid: string; asks: boolean }) {
  const failures = usePoll<{ 'root-exception'?: string | null }>(asks ? `jobs/${jid}/exceptions` : null, 60_000)
  const kept = useRef('')
  if (failures.data) kept.current = failures.data['root-exception']?.split('\n')[0] ?? ''
  const line = kept.current
  return (
    <p class="job-why job-failed small">
      {line && <><strong>Failed:</strong> {line} </>}
      <a href={href('jobs', jid, 'exceptions')}>{line ? 'All of it' : 'Why it failed'}</a>
    </p>
  )
}
