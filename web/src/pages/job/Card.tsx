import { percent, plural } from '../../lib/format'
import { href } from '../../lib/route'
import { inputWords } from '../../lib/progress'
import { stateWord, toneOf } from '../../parts/Badge'
import type { Slow, Summary, Vertex } from './api'
import { doing, doingWord, sharesOf, shortName } from './diagnosis'
import { flowWords } from './flow'
import { card } from './layout'
import { SharesBar } from './SharesBar'

interface Props {
  job: string
  vertex: Vertex
  summary?: Summary
  slow?: Slow
  history: boolean
  x: number
  y: number
  selected: boolean
  onFocus: () => void
}

/** Card is a vertex in the graph. */
export function Card({ job, vertex: v, summary, slow, history, x, y, selected, onFocus }: Props) {
  const shares = sharesOf(v.metrics, summary)
  const live = v.status === 'RUNNING' && shares?.now === true
  const skew = summary?.skew
  const one = live && slow?.vertex === v.id && slow.alone // one works, while the others wait
  const heat = one ? 'busy' : live ? doing(shares) : toneOf(v.status, history)
  return (
    <a
      class={`card card-${heat} ${selected ? 'card-selected' : ''} ${skew ? 'card-skewed' : ''}`}
      style={{ left: `${x}px`, top: `${y}px`, width: `${card.width}px`, height: `${card.height}px` }}
      href={href('jobs', job, 'graph', v.id)}
      data-vertex={v.id}
      draggable={false}
      aria-current={selected ? 'true' : undefined}
      onFocus={onFocus}
    >
      <span class="card-top">
        <span class={`card-state tone-${toneOf(v.status, history)}`}>{stateWords(v)}</span>
        <span class="card-par" title="Parallelism: the number of subtasks">×{v.parallelism}</span>
      </span>
      <span class="card-name" title={v.name}>{shortName(v.name, 200)}</span>
      {v['start-time'] > 0 && <span class="card-flow num">{flowWords(v, summary)}</span>}
      {shares && (
        <span class="card-time">
          <SharesBar shares={shares} />
          <span class="card-doing">{one ? `one subtask busy ${percent(slow.busy)}` : doingWord(shares)}</span>
        </span>
      )}
      {skew ? <span class="card-skew">{skew.brief}</span> : <span class="card-note" title={v.waits?.words}>{note(v, summary)}</span>}
    </a>
  )
}

/** stateWords says the state, and how many tasks are in it where they differ: "3 of 4 running". */
function stateWords(v: Vertex): string {
  const n = v.tasks[v.status] ?? 0
  const word = stateWord(v.status)
  const failed = v.tasks.FAILED
  if (failed > 0 && v.status !== 'FAILED') return `${word}, ${failed} failed`
  return n > 0 && n < v.parallelism ? `${n} of ${v.parallelism} ${word}` : word
}

/** note says what a vertex waits for, how far it is, and that it has begun anew. */
function note(v: Vertex, summary?: Summary): string {
  const over = v.status === 'FAILED' || v.status === 'CANCELED'
  const words: string[] = []
  if (v.waits) words.push(v.waits.brief)
  if (summary?.splits && !over) words.push(inputWords(summary.splits))
  else if (v.tasks.FINISHED > 0 && v.tasks.FINISHED < v.parallelism) words.push(`${v.tasks.FINISHED} of ${v.parallelism} finished`)
  if (summary && summary['earlier-attempts'] > 0) words.push(plural(summary['earlier-attempts'], 'earlier attempt'))
  return words.join(', ')
}
