import './overview.css'
import type { Application, Config, Overview } from '../../lib/api'
import { plural } from '../../lib/format'
import { useOverview } from '../../lib/overview'
import { usePoll } from '../../lib/poll'
import type { Presence } from '../../lib/presence'
import type { Tone } from '../../parts/Badge'
import { Badge } from '../../parts/Badge'
import { usePresence } from '../../parts/Presence'
import { StartLine } from '../../parts/StartLine'
import { AsOf, Loading } from '../../parts/States'
import { About, Attempts, Tokens } from './Facts'
import { Jobs } from './Jobs'
import { SlotMap } from './SlotMap'

/** OverviewPage answers: is it running, how far, and what does it wait for. The history server shows its list of jobs. */
export function OverviewPage(_: { args: string[] }) {
  const config = usePoll<Config>('config', 60_000)
  if (!config.data && !config.error) return <Loading what="the application" />
  if (config.data?.features['web-history'] === true) {
    return (
      <>
        <h1>History</h1>
        <Jobs history />
      </>
    )
  }
  return <Running />
}

function Running() {
  const app = usePoll<Application>('application', 10_000)
  const overview = useOverview()
  const presence = usePresence()
  return (
    <>
      <div class="page-head">
        <h1>{app.data?.name || 'Application'}</h1>
        <Badge {...stateOf(presence)} />
        {app.data && <span class="muted">{app.data.user}{app.data.queue !== '' && ` in queue ${app.data.queue}`}{app.data.attempt > 1 && `, attempt ${app.data.attempt}`}</span>}
        {overview.data && <span class="muted">{inWords(overview.data)}</span>}
      </div>
      <AsOf of={app} />
      <Jobs history={false} />
      <div class="overview-grid">
        <SlotMap />
        <StartLine path="start" title="The start" />
      </div>
      {app.data && <Attempts app={app.data} />}
      {app.data && (
        <div class="grid">
          <About app={app.data} />
          <Tokens app={app.data} />
        </div>
      )}
    </>
  )
}

function stateOf({ kind }: Presence): { state: string; tone: Tone } {
  switch (kind) {
    case 'here': return { state: 'running', tone: 'run' }
    case 'ended': return { state: 'ended', tone: 'quiet' }
    default: return { state: 'no answer', tone: 'warn' }
  }
}

function inWords(o: Overview): string {
  const jobs = o['jobs-running'] === 0 ? 'no job is running' : `${plural(o['jobs-running'], 'job is', 'jobs are')} running or waiting`
  return `${jobs}; ${o['slots-available']} of ${plural(o['slots-total'], 'slot')} free`
}
