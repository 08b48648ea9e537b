import './process.css'
import { useMemo, useState } from 'preact/hooks'
import { clock, duration, plural } from '../../lib/format'
import { refresh, usePoll } from '../../lib/poll'
import { View } from '../States'
import { group, type Dump } from './goroutines'

/** Goroutines shows the stacks of a process, equal ones together. path is that of REST. */
export function Goroutines({ path }: { path: string }) {
  const dump = usePoll<Dump>(path, 600_000)
  return <View of={dump} what="the goroutines">{(data) => <Groups dump={data} at={dump.at} path={path} />}</View>
}

function Groups({ dump, at, path }: { dump: Dump; at?: number; path: string }) {
  const [text, setText] = useState('')
  const { groups, notes } = useMemo(() => group(dump), [dump])
  const wanted = text.toLowerCase()
  const shown = groups.filter((g) => `${g.state}\n${g.stack}`.toLowerCase().includes(wanted))
  const total = shown.reduce((n, g) => n + g.count, 0)
  return (
    <div class="stack">
      <div class="row small">
        <label class="row">Find <input class="input" type="search" value={text} placeholder="function, file or state" onInput={(e) => setText(e.currentTarget.value)} /></label>
        <span role="status">{plural(total, 'goroutine')} with {plural(shown.length, 'stack')}</span>
        <button type="button" class="button" onClick={() => refresh(path)}>Look again</button>
        <span class="muted">as of {clock(at)}</span>
      </div>
      <div>
        {shown.map((g) => (
          <details key={`${g.state}\n${g.stack}`} class="routine">
            <summary>
              <span class="num">{g.count} ×</span>
              <code>{g.top}</code>
              <span class="muted small">{g.state}{g.longest > 0 && `, up to ${duration(g.longest * 60_000)}`}</span>
            </summary>
            <pre tabIndex={0}>{g.stack}</pre>
          </details>
        ))}
      </div>
      {notes.map((n) => <p key={n} class="muted small">{n}</p>)}
    </div>
  )
}
