import { bytes, clock, duration, percent, plural, rate, sentence } from '../../lib/format'
import { inputWords } from '../../lib/progress'
import { href } from '../../lib/route'
import { Badge, stateWord } from '../../parts/Badge'
import { Facts, Panel } from '../../parts/Panel'
import type { TabProps } from './tab'
import { sharesOf, stepsOf } from './diagnosis'
import { SharesBar } from './SharesBar'

/** Side describes the vertex that is selected in the graph. */
export function Side({ job, summaries, history, vertex, onClose }: TabProps & { vertex: string; onClose: () => void }) {
  const v = job.vertices.find((one) => one.id === vertex)
  if (!v) return null
  const summary = summaries.get(v.id)
  const shares = sharesOf(v.metrics, summary)
  const skew = summary?.skew
  const rates = v.status === 'RUNNING' ? summary?.rates : undefined
  return (
    <Panel
      title="Vertex"
      class="graph-side"
      actions={<button type="button" class="button" aria-label="Close the details" onClick={onClose}>Close</button>}
    >
      <div class="stack">
        <ol class="side-steps">{stepsOf(v.name).map((step, i) => <li key={i}>{step}</li>)}</ol>
        <div class="row">
          <Badge state={v.status} past={history} />
          <span class="small muted">{Object.entries(v.tasks).filter(([, n]) => n > 0).map(([state, n]) => `${n} ${stateWord(state)}`).join(', ')}</span>
        </div>
        {v.waits && <p class="note note-warn side-skew">{sentence(v.waits.words)}</p>}
        {skew && <p class="note note-busy side-skew">{skew.words}</p>}
        {shares && (
          <div class="stack side-time">
            <SharesBar shares={shares} />
            <span class="small">{shares.now ? 'Now, as a mean of its subtasks' : 'Over its whole time'}: busy {percent(shares.busy)}, back-pressured {percent(shares.pressed)}, idle {percent(shares.idle)}</span>
          </div>
        )}
        <Facts
          items={[
            ['Subtasks', v.parallelism],
            ['Splits', summary?.splits && inputWords(summary.splits)],
            ['In now', rates && `${rate(rates['read-records'], 'records')}, ${rate(rates['read-bytes'], 'B')}`],
            ['Out now', rates && `${rate(rates['write-records'], 'records')}, ${rate(rates['write-bytes'], 'B')}`],
            ['In, in all', `${plural(v.metrics['read-records'], 'record')}, ${bytes(v.metrics['read-bytes'])}`],
            ['Out, in all', `${plural(v.metrics['write-records'], 'record')}, ${bytes(v.metrics['write-bytes'])}`],
            ['Began', clock(v['start-time'])],
            ['Duration', duration(v.duration)],
            ['Earlier attempts', summary && summary['earlier-attempts'] > 0 ? <a href={href('jobs', job.jid, 'timeline', v.id)}>{summary['earlier-attempts']}: see the time line</a> : undefined],
          ]}
        />
        <div class="row">
          <a class="button" href={href('jobs', job.jid, 'subtasks', v.id)}>Subtasks</a>
          <a class="button" href={href('jobs', job.jid, 'timeline', v.id)}>Time line</a>
          <a class="button" href={href('jobs', job.jid, 'counters', v.id)}>Counters</a>
        </div>
      </div>
    </Panel>
  )
}
