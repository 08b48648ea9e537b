// The jobs that hold the slots for which a job waits.
import type { Slots } from '../lib/api'

/** holdersOf are the other jobs with slots, those with the most first. */
export const holdersOf = (slots: Slots | undefined, job: string) =>
  (slots?.jobs ?? []).filter((d) => d.jid !== job && d.slotsHeld > 0).sort((a, b) => b.slotsHeld - a.slotsHeld)
