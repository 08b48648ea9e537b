import type { JobsOverview } from '../lib/api'
import { short } from '../lib/format'
import { usePoll } from '../lib/poll'
import { href } from '../lib/route'
import type { Piece } from '../lib/words'
import { localTimes, piecesOf } from '../lib/words'

/** Words are those of the master: with times in the reader's zone, and with links to jobs by their names. */
export function Words({ text }: { text: string }) {
  const pieces = piecesOf(localTimes(text))
  return <>{pieces.map((piece, i) => (typeof piece === 'string' ? piece : <JobLink key={i} job={piece.job} />))}</>
}

/** JobLink names a job as "word count c0f95b0e". */
export function JobLink({ job }: Exclude<Piece, string>) {
  const jobs = usePoll<JobsOverview>('jobs/overview')
  return <a href={href('jobs', job)}>{jobs.data?.jobs.find((j) => j.jid === job)?.name ?? 'job'} {short(job)}</a>
}
