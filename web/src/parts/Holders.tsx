import type { JobsOverview, Slots } from '../lib/api'
import { plural, short } from '../lib/format'
import { usePoll } from '../lib/poll'
import { href } from '../lib/route'
import { holdersOf } from './holders'

/** So many jobs are named. */
const most = 3

/** Holders names the jobs that hold the slots for which a job waits. */
export function Holders({ slots, job }: { slots?: Slots; job: string }) {
  const jobs = usePoll<JobsOverview>('jobs/overview')
  const all = holdersOf(slots, job)
  if (all.length === 0) return null
  const name = (jid: string) => jobs.data?.jobs.find((j) => j.jid === jid)?.name ?? 'job'
  return (
    <>
      {'Slots are held by '}
      {all.slice(0, most).map((h, i) => (
        <span key={h.jid}>{i > 0 && ', '}<a href={href('jobs', h.jid)}>{name(h.jid)} {short(h.jid)}</a> ({h.slotsHeld})</span>
      ))}
      {all.length > most && ` and ${plural(all.length - most, 'other job')}`}.
    </>
  )
}
