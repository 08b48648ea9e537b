import type { ComponentChildren } from 'preact'
import type { Access, Application, Config } from '../lib/api'
import { clock } from '../lib/format'
import { toBrowser } from '../lib/master'
import { useNow } from '../lib/now'
import { useOverview } from '../lib/overview'
import { usePoll } from '../lib/poll'
import type { Presence, YarnApplication } from '../lib/presence'
import { isOver, presenceOf, yarnPath } from '../lib/presence'
import { zone } from '../lib/words'

const atYarn = yarnPath(location.pathname) ?? null

/** usePresence says whether the master answers, and why not as far as the page can know. */
export function usePresence(): Presence {
  const overview = useOverview()
  const { access } = useAccess()
  const yarn = usePoll<{ app: YarnApplication }>(overview.awaySince === undefined ? null : atYarn, 5000)
  const now = useNow(overview.error ? 1000 : null)
  const { failedSince, awaySince, error } = overview
  const until = access === undefined || access.until < 0 ? undefined : toBrowser(access.until)
  return presenceOf({ now: Math.max(now, failedSince ?? 0), failedSince, status: error?.status, awaySince, until, yarn: yarn.error && !isOver(yarn.data?.app) ? undefined : yarn.data?.app })
}

/** useAccess keeps what the page needs to know when its access has ended. */
function useAccess(): { access?: Access; tracking?: string } {
  const config = usePoll<Config>('config', 60_000)
  const live = config.data !== undefined && config.data.features['web-history'] !== true
  const access = usePoll<Access>(live ? 'access' : null, 60_000).data
  const application = usePoll<Application>(access !== undefined && access.until >= 0 ? 'application' : null, 60_000)
  const tracking = application.data?.trackingUrl ?? ''
  return { access, tracking: /^https?:/.test(tracking) ? tracking : undefined } // YARN has "N/A" for a while
}

/** One lost answer is no news: the page tells of silence after so long, in ms. */
const unrest = 5000

/** Away says why there is no answer, and what the reader can do. The page asks on. */
export function Away() {
  const presence = usePresence()
  const { error } = useOverview()
  const { access, tracking } = useAccess()
  switch (presence.kind) {
    case 'here': return null
    case 'silent': return Date.now() - presence.since < unrest ? null : (
      <Note title={error !== undefined && error.status > 0 ? error.message : `There has been no answer since ${clock(presence.since)}.`}>
        This page keeps what it has got, and asks on.
      </Note>
    )
    case 'lost': return (
      <Note title={`There has been no answer since ${clock(presence.since)}.`}>
        This page belongs to one ApplicationMaster. If YARN has started another one, it has another address. <WayBack how={access?.how} tracking={tracking} />
      </Note>
    )
    case 'shut': return (
      <Note title={`The access of this browser ended at ${clock(presence.at)}.`}>
        This page keeps what it has got. <WayBack how={access?.how} tracking={tracking} />
      </Note>
    )
    case 'away': return presence.known ? (
      <Note title="YARN starts another master.">The last one has not answered since {clock(presence.since)}. This page keeps what it has got, and goes on when the next one answers.</Note>
    ) : (
      <Note title={`YARN’s proxy has led elsewhere since ${clock(presence.since)}.`}>
        If YARN starts another master, this page goes on when that one answers. If the application has ended, or if you must log in again, <a href="./">see where the proxy leads</a>.
      </Note>
    )
    case 'probably ended': return (
      <Note title="The application has probably ended.">YARN’s proxy has led elsewhere since {clock(presence.since)}. This page keeps what it has got. <Onwards /></Note>
    )
    case 'ended': return (
      <Note title="The application has ended.">{finals[presence.final] ?? ''} This page keeps what it has got. <Onwards /></Note>
    )
  }
}

/** finals says how YARN has an application's end. */
const finals: Record<string, string> = { SUCCEEDED: 'It has succeeded.', FAILED: 'It has failed.', KILLED: 'It was killed.' }

function Note({ title, children }: { title: string; children: ComponentChildren }) {
  return <p class="away" role="status"><strong>{title}</strong> {children}</p>
}

/** Onwards leads to the history of an application that has ended. */
function Onwards() {
  return <><a href="./">See where YARN leads now</a>: to the application’s history, if a history server is configured.</>
}

/** WayBack tells how a browser with a cookie gets to the next master. */
function WayBack({ how, tracking }: { how?: string; tracking?: string }) {
  return (
    <>
      {how !== undefined && how !== '' && <>To change something, run <code>{how}</code>. </>}
      {tracking !== undefined && <>To look, follow <a href={tracking}>YARN’s link to the application</a>: it leads to the newest master, and to the history after the end.</>}
    </>
  )
}

/** Live is the time of the newest answer. */
export function Live() {
  const overview = useOverview()
  if (overview.error) return <span class="live" role="status">no answer{overview.failedSince !== undefined && ` since ${clock(overview.failedSince)}`}</span>
  return <span class="live">{overview.at !== undefined && <>as of {clock(overview.at)} <span class="live-zone">· times in {zone()}</span></>}</span>
}
