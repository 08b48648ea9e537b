import { useEffect, useRef, useState } from 'preact/hooks'
import { post } from '../../lib/api'
import { duration } from '../../lib/format'
import { useNow } from '../../lib/now'
import { refresh } from '../../lib/poll'
import { go } from '../../lib/route'
import { Reason } from '../../parts/Reason'
import type { PlanAnswer, Program, RunRequest } from './api'
import { longest } from './api'
import { split } from './words'

interface State {
  busy?: string
  error?: string
}

/** RunForm runs a program with arguments, and leads to its first job; or it shows the plan that the program would make. */
export function RunForm({ program, onBusy, onClose }: { program: Program; onBusy: (busy: boolean) => void; onClose: () => void }) {
  const [line, setLine] = useState('')
  const [parallelism, setParallelism] = useState('')
  const [plan, setPlan] = useState<PlanAnswer>()
  const [state, tell] = useState<State>({})
  const here = useRef(true) // a reader who has gone elsewhere meanwhile stays there
  useEffect(() => () => { here.current = false }, [])
  const act = async (busy: string, what: (request: RunRequest) => Promise<State>) => {
    tell({ busy })
    onBusy(true)
    try {
      const n = Number(parallelism)
      tell(await what({ programArgsList: split(line), ...(n > 0 ? { parallelism: n } : {}) }))
    } catch (e) {
      tell({ error: e instanceof Error ? e.message : String(e) })
    }
    onBusy(false)
  }
  const path = `programs/${program.id}`
  const run = () => act('The program starts, and submits its first job.', async (request) => {
    const { jobid } = await post<{ jobid: string }>(`${path}/run`, request, longest)
    refresh()
    if (here.current) go('jobs', jobid)
    return {}
  })
  const look = () => act('The program runs until it has planned its first job.', async (request) => {
    setPlan(await post<PlanAnswer>(`${path}/plan`, request, longest))
    return {}
  })
  return (
    <form class="stack run-form" aria-label={`Run ${program.name}`} onSubmit={(e) => { e.preventDefault(); void run() }}>
      <label class="field">
        <span>Arguments of {program.name}</span>
        <input class="input mono" value={line} spellcheck={false} autocomplete="off" placeholder={'hdfs:///input hdfs:///output'} onInput={(e) => setLine(e.currentTarget.value)} autoFocus />
      </label>
      <label class="field field-small">
        <span>Parallelism</span>
        <input class="input" type="number" min="1" max="32768" value={parallelism} placeholder="default" onInput={(e) => setParallelism(e.currentTarget.value)} />
      </label>
      <div class="row">
        <button type="submit" class="button button-main" disabled={state.busy !== undefined}>Run</button>
        <button type="button" class="button" disabled={state.busy !== undefined} onClick={() => void look()}>Show the plan</button>
        <button type="button" class="button" disabled={state.busy !== undefined} onClick={onClose}>Close</button>
      </div>
      {state.busy !== undefined && <Waits words={state.busy} />}
      {state.error !== undefined && <div class="session-bad" role="alert"><Reason text={state.error} open /></div>}
      {plan && <Plan answer={plan} />}
    </form>
  )
}

/** Waits says how long the program has taken, and may take. */
function Waits({ words }: { words: string }) {
  const [began] = useState(Date.now)
  const now = useNow(1000)
  return <p class="muted"><span role="status">{words} It may take up to four minutes.</span> {duration(now - began)} so far.</p>
}

function Plan({ answer: { plan } }: { answer: PlanAnswer }) {
  const place = new Map(plan.nodes.map((n, i) => [n.id, i + 1]))
  return (
    <div class="stack">
      <h3>The plan of “{plan.name}”</h3>
      <ol class="plan-list">
        {plan.nodes.map((n) => (
          <li key={n.id}>
            {n.description} <span class="muted">× {n.parallelism}</span>
            {n.inputs?.map((i) => <span key={i.id} class="muted small"> from {place.get(i.id)} ({i.ship_strategy.toLowerCase()})</span>)}
          </li>
        ))}
      </ol>
    </div>
  )
}
