import { useState } from 'preact/hooks'
import type { JobsOverview, JobSummary } from '../../lib/api'
import { del, hasEnded, patch } from '../../lib/api'
import { clock, duration, plural, short } from '../../lib/format'
import { refresh, usePoll } from '../../lib/poll'
import { href } from '../../lib/route'
import { Badge } from '../../parts/Badge'
import { Dialog } from '../../parts/Dialog'
import { Panel } from '../../parts/Panel'
import { AsOf, Empty, View } from '../../parts/States'
import type { Driver, Drivers } from './api'

const step = 25

/** JobActs lists the jobs that go on, to cancel them. */
export function JobActs({ changes }: { changes: boolean }) {
  const answer = usePoll<JobsOverview>('jobs/overview')
  const [chosen, choose] = useState<JobSummary>()
  const [most, more] = useState(step)
  return (
    <Panel title="Jobs that go on">
      <View of={answer} what="the jobs">
        {({ jobs }) => {
          const list = jobs.filter((j) => !hasEnded(j.state))
          if (list.length === 0) return <Empty title="No job goes on." />
          return (
            <>
              <ul class="programs">
                {list.slice(0, most).map((j) => (
                  <li key={j.jid} class="row">
                    <a href={href('jobs', j.jid)}>{j.name}</a>
                    <span class="mono muted small">{short(j.jid)}</span>
                    <Badge state={j.state} />
                    <span class="muted small">for {duration(j.duration)}</span>
                    {changes && j.state !== 'CANCELLING' && (
                      <span class="program-acts"><button type="button" class="button button-bad" aria-label={`Cancel ${j.name} ${short(j.jid)}…`} onClick={() => choose(j)}>Cancel…</button></span>
                    )}
                  </li>
                ))}
              </ul>
              {list.length > most && <button type="button" class="button" onClick={() => more(most + 4 * step)}>Show more: {plural(list.length - most, 'job is', 'jobs are')} left</button>}
            </>
          )
        }}
      </View>
      {chosen && (
        <Dialog
          title={`Cancel “${chosen.name}”?`} confirm="Cancel the job" dismiss="Let it run" bad onClose={() => choose(undefined)}
          onConfirm={async () => { await patch(`jobs/${chosen.jid}?mode=cancel`); refresh('jobs') }}
        >
          <p>Its tasks end, and its output is removed. To get the result, you run the job again from its beginning.</p>
          <p>Id {chosen.jid}, {plural(chosen.tasks.total, 'task')}, {duration(chosen.duration)} since it was submitted.</p>
        </Dialog>
      )}
    </Panel>
  )
}

/** DriverList has the programs that run beside the master. */
export function DriverList({ runs }: { runs: boolean }) {
  const answer = usePoll<Drivers>('drivers', 5000)
  const [chosen, choose] = useState<Driver>()
  if (!answer.data || answer.data.drivers.length === 0) return null
  return (
    <Panel title="Programs that run" note="beside the master, where they submit their jobs">
      <AsOf of={answer} />
      <ul class="programs">
        {answer.data.drivers.map((d) => (
          <li key={d.id} class="row">
            <strong>{d.name}</strong>
            <span class="muted small">since {clock(d.started)}, {plural(d.jobs, 'job')}</span>
            {d.lastJob !== undefined && <a href={href('jobs', d.lastJob)}>its last job</a>}
            {runs && <span class="program-acts"><button type="button" class="button button-bad" aria-label={`End ${d.name}…`} onClick={() => choose(d)}>End…</button></span>}
          </li>
        ))}
      </ul>
      {chosen && (
        <Dialog title={`End ${chosen.name}?`} confirm="End the program" dismiss="Let it run" bad onClose={() => choose(undefined)} onConfirm={async () => { await del(`drivers/${chosen.id}`); refresh('drivers') }}>
          <p>Its jobs continue. It submits no further ones.</p>
        </Dialog>
      )}
    </Panel>
  )
}

/** Shutdown ends the whole application, which is a session in most cases. */
export function Shutdown({ session }: { session: boolean }) {
  const [asking, ask] = useState(false)
  const [ended, end] = useState(false)
  const what = session ? 'session' : 'application'
  return (
    <Panel title={`Stop the ${what}`}>
      {ended
        ? <p role="status">The {what} stops. Its last answers stay on this page until you leave it.</p>
        : (
          <div class="row">
            <p class="muted">All its jobs are cancelled, and YARN gets all containers back.</p>
            <span class="program-acts"><button type="button" class="button button-bad" onClick={() => ask(true)}>Stop the {what}…</button></span>
          </div>
        )}
      {asking && (
        <Dialog title={`Stop the ${what}?`} confirm={`Stop the ${what}`} dismiss="Keep it" bad onClose={() => ask(false)} onConfirm={async () => { await del('cluster'); end(true) }}>
          <p>{session ? 'This cancels every job that goes on here, also those of other users.' : 'This ends its program, and cancels every job that goes on here.'} It cannot be undone.</p>
        </Dialog>
      )}
    </Panel>
  )
}
