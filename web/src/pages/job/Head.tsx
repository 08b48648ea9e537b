import { useState } from 'preact/hooks'
import type { Access, Config, TaskState, Waiting } from '../../lib/api'
import { hasEnded, patch } from '../../lib/api'
import { clock, duration, percent, plural } from '../../lib/format'
import { refresh, usePoll } from '../../lib/poll'
import { progressOf } from '../../lib/progress'
import { href, masterLog } from '../../lib/route'
import { Badge } from '../../parts/Badge'
import { Dialog } from '../../parts/Dialog'
import { Meter } from '../../parts/Meter'
import type { TabProps } from './tab'
import type { Job } from './api'
import { mayWait } from './diagnosis'

/** Head says which job this is, its state, since when, and how far it is. */
export function Head({ job, summaries, history }: TabProps) {
  const config = usePoll<Config>(history ? 'config' : null, 60_000)
  // An archive of Flink does not say where its master was.
  const environment = usePoll<{ container?: object }>(config.data?.features['web-master-logs'] === true ? `jobs/${job.jid}/jobmanager/environment` : null, 60_000)
  const access = usePoll<Access>(history ? null : 'access', 60_000)
  const ended = hasEnded(job.state)
  const waiting = usePoll<Waiting>(mayWait(job) && !history ? `jobs/${job.jid}/waiting` : null)
  const [asking, ask] = useState(false)
  const subtasks = job.vertices.reduce((n, v) => n + v.parallelism, 0)
  const inState = (state: TaskState) => job.vertices.reduce((n, v) => n + v.tasks[state], 0)
  const progress = progressOf(job.state, { finished: inState('FINISHED'), running: inState('RUNNING'), total: subtasks }, summaries.values())
  const cancel = async () => {
    await patch(`jobs/${job.jid}?mode=cancel`)
    refresh()
  }
  const mayCancel = !ended && !history && access.data?.change === true && job.state !== 'CANCELLING'
  return (
    <section class="job-head" aria-label="The job">
      <nav class="small" aria-label="Where this is"><a href={href('overview')}>{history ? 'Ended jobs' : 'Jobs'}</a> <span class="muted">/</span></nav>
      <div class="page-head">
        <h1>{job.name}</h1>
        {waiting.data?.waiting === true && inState('RUNNING') === 0 ? <Badge state="waiting" tone="warn" /> : <Badge state={job.state} past={history} />}
        <span class="job-since">{since(job, history)}</span>
        {mayCancel && <button type="button" class="button button-bad job-cancel" onClick={() => ask(true)}>Cancel…</button>}
      </div>
      <div class="job-facts small muted">
        <span class="mono" title="Id of the job">{job.jid}</span>
        {subtasks > 0 && <span>{plural(job.vertices.length, 'vertex', 'vertices')}, {plural(subtasks, 'subtask')}</span>}
        <span>began {clock(job['start-time'])}</span>
        {environment.data?.container !== undefined && <a href={masterLog(job.jid)}>log of the master</a>}
        {!ended && !history && access.data?.change === false && (
          <span>This page only looks here. <code>{access.data.how}</code> opens it for changes.</span>
        )}
      </div>
      {progress && job.state !== 'FINISHED' && (
        <div class="job-progress">
          <Meter label="Progress" max={progress.all} value={progress.done} tone={job.state === 'FAILED' ? 'bad' : ended || history ? 'quiet' : 'accent'} text={progress.done > 0 ? `${progress.words} (${percent(progress.done / progress.all)})` : progress.words} />
        </div>
      )}
      {asking && (
        <Dialog title={`Cancel “${job.name}”?`} confirm="Cancel the job" dismiss="Let it run" bad onConfirm={cancel} onClose={() => ask(false)}>
          <p>Its tasks end, and its output is removed. Jobs do not resume: to get the result, you run the job again from its beginning.</p>
          <p>It has run for {duration(job.duration)}{progress && `, ${progress.words}`}.</p>
        </Dialog>
      )}
    </section>
  )
}

/** since says in words for how long the job is in its state. */
function since(job: Job, history: boolean): string {
  const entered = job.timestamps[job.state]
  switch (job.state) {
    case 'FINISHED':
      return `in ${duration(job.duration)}, at ${clock(job['end-time'])}`
    case 'FAILED':
    case 'CANCELED':
      return `after ${duration(job.duration)}, at ${clock(job['end-time'])}`
    default:
      if (history) return `when its archive was last written, at ${clock(job.now)}`
      return `for ${duration(job.now - (entered || job['start-time']))}, since ${clock(entered || job['start-time'])}`
  }
}
