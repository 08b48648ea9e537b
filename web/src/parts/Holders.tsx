import type { Slots } from '../lib/api'
import { plural } from '../lib/format'
import { holdersOf } from './holders'
import { JobLink } from './Words'

/** So many jobs are named. */
const most = 3

/** Holders names the jobs that hold the slots for which a job waits. */
export function Holders({ slots, job }: { slots?: Slots; job: string }) {
  const all = holdersOf(slots, job)
  if (all.length === 0) return null
  return (
    <>
      {'Slots are held by '}
      {all.slice(0, most).map((h, i) => (
        <span key={h.jid}>{i > 0 && ', '}<JobLink job={h.jid} /> ({h.slotsHeld})</span>
      ))}
      {all.length > most && ` and ${plural(all.length - most, 'other job')}`}.
    </>
  )
}
