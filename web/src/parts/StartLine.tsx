import './StartLine.css'
import { useEffect, useState } from 'preact/hooks'
import type { Step } from '../lib/api'
import { clock, duration } from '../lib/format'
import { toMaster } from '../lib/master'
import { usePoll } from '../lib/poll'
import { Panel } from './Panel'
import { View } from './States'
import type { Start } from './steps'
import { startOf } from './steps'

interface Props {
  path: string
  title: string
  every?: number // ms
  /** The time on the master's clock; otherwise that of the answer. */
  now?: number
}

/** StartLine shows where the seconds of a start went. It is not there without steps: Flink's archives have none. */
export function StartLine({ path, title, every = 5000, now }: Props) {
  const [rests, rest] = useState(false)
  const steps = usePoll<Step[]>(path, rests ? Math.max(every, 15_000) : every)
  const start = steps.data && startOf(steps.data, now ?? toMaster(steps.at ?? 0))
  const still = start !== undefined && !start.going
  useEffect(() => rest(still), [still]) // the next step may be long in coming, or never come
  if (steps.gone || steps.data?.length === 0) return null
  return (
    <Panel title={title} note={start && words(start)}>
      <View of={steps} what="the time line of the start">{() => start && <Bars start={start} />}</View>
    </Panel>
  )
}

function words({ longest, whole, going, bars }: Start): string | undefined {
  if (!longest) return undefined
  const sum = `from ${clock(bars[0]!.begin)}, ${duration(whole)} ${going ? 'so far' : 'in all'}`
  return bars.length < 2 ? sum : `${sum}; the longest step is “${longest.name}”, ${duration(longest.length)}`
}

function Bars({ start: { bars, longest } }: { start: Start }) {
  return (
    <ol class="steps">
      {bars.map((b, i) => [
        b.pause > 0 && <li key={`pause ${i}`} class="steps-pause muted small">nothing to do for {duration(b.pause)}</li>,
        <li key={`${b.name} ${i}`} title={`${b.name}: from ${clock(b.begin)}, ${duration(b.length)}. ${b.detail}`}>
          <span class="steps-name">{b.name}</span>
          <span class="steps-lane" aria-hidden="true">
            <span
              class={`steps-bar ${b === longest ? 'steps-longest' : ''} ${b.going ? 'steps-going' : ''}`}
              style={{ left: `${100 * Math.min(b.from, 0.995)}%`, width: `${Math.max(0.5, 100 * b.size)}%` }}
            />
          </span>
          <span class="steps-time num">{b.going ? `${duration(b.length)} so far` : duration(b.length)}</span>
          <span class="steps-detail muted small">{b.detail}</span>
        </li>,
      ])}
    </ol>
  )
}
