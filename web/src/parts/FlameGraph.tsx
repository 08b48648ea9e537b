import './FlameGraph.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { bytes, clock, count, duration, percent } from '../lib/format'
import { ageOf } from '../lib/master'
import { usePoll } from '../lib/poll'
import { at, disabled, found, kindOf, layout, move, shortName, terminated, waiting, type FlameAnswer, type FlameNode } from './flame'
import { Empty, Loading, View } from './States'

export interface FlameChoice {
  title: string // "On the processor"
  path: string // of REST, with its query
}

interface Props {
  choices: FlameChoice[]
  what: string // "the tasks of this vertex"
  option: string // that allows it
}

/** FlameGraph asks for a flame graph, and again while it is made. It says what is missing if there is none. */
export function FlameGraph({ choices, what, option }: Props) {
  const [chosen, choose] = useState(0)
  const [every, setEvery] = useState(1500)
  const choice = choices[Math.min(chosen, choices.length - 1)]!
  const graph = usePoll<FlameAnswer>(choice.path, every)
  const end = graph.data?.endTimestamp
  // An old graph is answered while the next one is made.
  useEffect(() => {
    if (!graph.error && (end === undefined || end === waiting)) setEvery(1500)
    else setEvery(end !== undefined && end > 0 && ageOf(end) > 60_000 ? 6000 : 20_000)
  }, [end, graph.error])
  const refused = graph.error?.status === 403
  const off = end === disabled || (graph.error?.status === 404 && graph.error.message.includes(option))
  return (
    <div class="stack">
      {choices.length > 1 && (
        <div class="flame-choices row" role="group" aria-label="What is shown">
          {choices.map((c, i) => (
            <button key={c.title} type="button" class="button" aria-pressed={i === chosen} onClick={() => { setEvery(1500); choose(i) }}>{c.title}</button>
          ))}
        </div>
      )}
      {refused ? <Refused why={graph.error!.message} /> : off ? <Off option={option} /> : (
        <View of={graph} what={`the flame graph of ${what}`}>
          {(answer) => answer.endTimestamp === waiting ? <Loading what={`a sample of ${what}, which takes 5 s`} />
            : answer.endTimestamp === terminated ? <Empty title="No task runs.">A flame graph shows what tasks do while they run.</Empty>
            : answer.data && answer.data.value > 0 ? <Flames answer={answer} root={answer.data} />
            : <Empty title="Nothing was seen.">In the 5 s of the sample, {what} did nothing of this kind. Sampled at {clock(answer.endTimestamp)}.</Empty>}
        </View>
      )}
    </div>
  )
}

/** Off says how profiling is allowed. */
export function Off({ option }: { option: string }) {
  return (
    <Empty title="This cluster takes no samples of its processes.">
      Start it with <code>-D {option}=true</code>. Then its owner can look, and users whom <code>yarn.modify.acls</code> names.
    </Empty>
  )
}

function Refused({ why }: { why: string }) {
  return (
    <Empty title="You may not look at this here.">
      <p>{why}</p>
      <p>Samples of processes are for the owner, and for users whom <code>yarn.modify.acls</code> names. YARN's proxy passes none on: open the page with <code>bobbin open</code>.</p>
    </Empty>
  )
}

function valueOf(unit: FlameAnswer['unit'], n: number): string {
  return unit === 'bytes' ? bytes(n) : unit === 'ms' ? duration(n) : `${count(n)} samples`
}

function Flames({ answer, root }: { answer: FlameAnswer; root: FlameNode }) {
  const [zoom, setZoom] = useState(root.name)
  const [focus, setFocus] = useState(root.name)
  const [over, setOver] = useState<string>()
  const [text, setText] = useState('')
  const box = useRef<HTMLDivElement>(null)
  const frames = useMemo(() => layout(root, zoom), [root, zoom])
  const sum = useMemo(() => found(root, text), [root, text])
  const levels = frames.reduce((most, f) => Math.max(most, f.level), 0) + 1
  const active = frames.some((f) => f.path === focus) ? focus : root.name
  const told = frames.find((f) => f.path === (over ?? active)) ?? frames[0]!
  const own = useMemo(() => {
    const { node } = at(root, told.path)
    return node.value - node.children.reduce((n, c) => n + c.value, 0)
  }, [root, told.path])
  const key = (e: KeyboardEvent) => {
    if (e.key === 'Escape') setZoom(root.name)
    else if (e.key === 'Enter' || e.key === ' ') setZoom(active)
    else if (/^(Arrow|Home)/.test(e.key)) {
      const next = move(frames, active, e.key)
      setFocus(next)
      const i = frames.findIndex((f) => f.path === next)
      box.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[i]?.focus()
    } else return
    setOver(undefined)
    e.preventDefault()
  }
  return (
    <div class="stack">
      <div class="row small">
        <label class="row">
          Find <input class="input" type="search" value={text} placeholder="function or package" onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        {text !== '' && <strong role="status">{sum === 0 ? 'nothing found' : `${percent(sum / root.value)} of all, ${valueOf(answer.unit, sum)}`}</strong>}
        <button type="button" class="button" disabled={at(root, zoom).path === root.name} onClick={() => setZoom(root.name)}>Show all</button>
        <span class="muted">
          sampled at {clock(answer.endTimestamp)}
          {answer.workers !== undefined && answer.sampled !== undefined && answer.sampled < answer.workers && `, on ${answer.sampled} of ${answer.workers} workers`}
        </span>
      </div>
      <p class="flame-told small">
        <code>{told.name}</code>
        <span>{valueOf(answer.unit, told.value)}, <strong>{percent(told.value / root.value)}</strong> of all; {percent(own / root.value)} itself</span>
      </p>
      <div ref={box} class="flame" role="tree" aria-label="Functions, each below its caller; Enter zooms, Escape shows all" style={{ height: `${levels * 1.25}rem` }} onKeyDown={key} onMouseLeave={() => setOver(undefined)}>
        {frames.map((f) => (
          <div
            key={f.path}
            role="treeitem"
            aria-level={f.level + 1}
            aria-selected={f.path === active}
            aria-label={`${f.name}, ${percent(f.value / root.value)}`}
            tabIndex={f.path === active ? 0 : -1}
            title={`${f.name}\n${valueOf(answer.unit, f.value)}, ${percent(f.value / root.value)}`}
            class={`flame-frame flame-${kindOf(f.name)} ${text !== '' && f.name.toLowerCase().includes(text.toLowerCase()) ? 'flame-found' : ''}`}
            style={{ left: `${f.x * 100}%`, width: `${f.width * 100}%`, top: `${f.level * 1.25}rem` }}
            onMouseEnter={() => setOver(f.path)}
            onFocus={() => setFocus(f.path)}
            onClick={() => { setFocus(f.path); setZoom(f.path) }}
          >
            {f.width > 0.02 && shortName(f.name)}
          </div>
        ))}
      </div>
      <p class="row small muted">
        <span class="flame-key flame-user" /> your code and its modules <span class="flame-key flame-library" /> Bobbin and Go’s library <span class="flame-key flame-runtime" /> Go’s runtime and the system
      </p>
    </div>
  )
}
