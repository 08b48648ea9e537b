import type { Slots, Waiting } from '../../lib/api'
import { plural, sentence } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { Holders } from '../../parts/Holders'
import { Words } from '../../parts/Words'

/** Why says why a job waits: the most important reason first, with what helps. */
export function Why({ job, waiting }: { job: string; waiting: Waiting }) {
  const slots = usePoll<Slots>('slots')
  const demand = slots.data?.jobs.find((d) => d.jid === job && d.waitsSince >= 0)
  const [first, ...others] = waiting.reasons.filter((r) => r.reason !== 'OTHER_JOBS')
  return (
    <>
      <p class="note-cause"><Words text={sentence(first?.words ?? waiting.words)} /></p>
      {first && first.remedy !== '' && <p>To help: <Words text={first.remedy} />.</p>}
      <p class="small">
        {demand && `It needs ${plural(demand.slotsNeeded, 'slot')} and has ${demand.slotsHeld}. `}
        {waiting.reasons.some((r) => r.reason === 'OTHER_JOBS') && <Holders slots={slots.data} job={job} />}
        {others.map((r) => <Words key={r.words} text={` ${sentence(r.words)}${r.remedy === '' ? '' : ` To help: ${r.remedy}.`}`} />)}
      </p>
    </>
  )
}
