import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { count } from '../../lib/format'
import { levelOf, matches, split } from './logs'

interface Props {
  lines: string[]
  name: string
  follow: boolean
  onFollow: (on: boolean) => void
  note: ComponentChildren
}

const lineHeight = 18 // pixels, as in process.css
const spare = 20 // lines above and below those that are seen

/** Text shows many lines, of which only those that are seen are drawn, and searches them. */
export function Text({ lines, name, follow, onFollow, note }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(480)
  const [text, setText] = useState('')
  const [at, setAt] = useState(-1) // index of the match
  const [only, setOnly] = useState(false)
  const found = useMemo(() => matches(lines, text), [lines, text])
  const shown = useMemo(() => (only && text !== '' ? found.map((i) => lines[i]!) : lines), [only, text, found, lines])
  const longest = useMemo(() => shown.reduce((n, l) => Math.max(n, l.length), 0), [shown])
  useLayoutEffect(() => {
    const b = box.current
    if (b && follow && at < 0) b.scrollTop = b.scrollHeight
  }, [shown.length, follow, at])
  useEffect(() => {
    const b = box.current
    if (!b) return
    const resized = new ResizeObserver(() => setHeight(b.clientHeight))
    resized.observe(b)
    return () => resized.disconnect()
  }, [])
  const step = (by: number) => {
    if (found.length === 0) return
    const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length
    setAt(next)
    const line = only ? next : found[next]!
    if (box.current) box.current.scrollTop = Math.max(0, line * lineHeight - box.current.clientHeight / 2)
  }
  const first = Math.max(0, Math.floor(top / lineHeight) - spare)
  const last = Math.min(shown.length, Math.ceil((top + height) / lineHeight) + spare)
  const current = at < 0 ? -1 : only ? at : (found[at] ?? -1)
  return (
    <div class="stack">
      <div class="row small">
        <label class="row">
          Find
          <input
            class="input" type="search" value={text}
            onInput={(e) => { setText(e.currentTarget.value); setAt(-1) }}
            onKeyDown={(e) => { if (e.key === 'Enter') { e.preventDefault(); step(e.shiftKey ? -1 : 1) } }}
          />
        </label>
        <button type="button" class="button" disabled={found.length === 0} onClick={() => step(-1)} aria-label="Previous match">↑</button>
        <button type="button" class="button" disabled={found.length === 0} onClick={() => step(1)} aria-label="Next match">↓</button>
        {text !== '' && <span role="status">{found.length === 0 ? 'nothing found' : at < 0 ? `${count(found.length)} lines` : `${at + 1} of ${count(found.length)}`}</span>}
        <label class="row"><input type="checkbox" checked={only} onChange={(e) => { setOnly(e.currentTarget.checked); setAt(-1) }} /> only these lines</label>
        <label class="row"><input type="checkbox" checked={follow} onChange={(e) => { onFollow(e.currentTarget.checked); setAt(-1) }} /> follow</label>
        <span class="muted">{note}</span>
      </div>
      <div
        ref={box} class="text scroll-x" role="log" aria-live="off" aria-label={name} tabIndex={0}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      >
        <div class="text-all" style={{ height: `${shown.length * lineHeight}px`, width: `max(100%, ${longest + 2}ch)` }}>
          {shown.slice(first, last).map((line, i) => (
            <div key={first + i} class={`text-line text-${levelOf(line) ?? 'plain'} ${first + i === current ? 'text-current' : ''}`} style={{ top: `${(first + i) * lineHeight}px` }}>
              {split(line, text).map((part, n) => (n % 2 === 1 ? <mark key={n}>{part}</mark> : part))}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
