import './graph.css'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { hasEnded } from '../../lib/api'
import { bytes, count } from '../../lib/format'
import { go } from '../../lib/route'
import type { TabProps } from './tab'
import type { Vertex } from './api'
import { Card } from './Card'
import { keyOf, layOut, neighbour, card as size } from './layout'
import type { Edge, Layout } from './layout'
import { NoVertices } from './NoVertices'
import { Side } from './Side'

/** Boxes that are narrower have the flow from top to bottom. In pixels. */
const narrow = 640

interface Camera {
  x: number
  y: number
  scale: number
}

/** GraphTab draws the vertices and what flows between them. */
export const GraphTab = (props: TabProps) => (props.job.plan.nodes.length === 0 ? <NoVertices job={props.job} /> : <Graph {...props} />)

function Graph(props: TabProps) {
  const { job, summaries, slow, vertex, history } = props
  const going = !hasEnded(job.state) && !history
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const down = width > 0 && width < narrow
  const key = keyOf(job.plan)
  const layout = useMemo(() => (width === 0 ? undefined : layOut(job.plan, down)), [key, down, width === 0])
  const [camera, move] = useState<Camera>({ x: 0, y: 0, scale: 1 })
  const moved = useRef(false) // by the reader
  useLayoutEffect(() => {
    const host = box.current!
    setWidth(host.clientWidth)
    const resized = new ResizeObserver(() => setWidth(host.clientWidth))
    resized.observe(host)
    return () => resized.disconnect()
  }, [])
  const height = layout ? heightOf(layout, width, down) : 320
  const fit = () => {
    if (layout) move(fitted(layout, width, height))
    moved.current = false
  }
  useLayoutEffect(() => {
    if (!moved.current) fit()
  }, [layout, width, height])
  const zoom = (by: number, at?: { x: number; y: number }) => {
    moved.current = true
    move((c) => zoomed(c, by, at ?? { x: width / 2, y: height / 2 }))
  }
  usePanning(box, move, moved, zoom)
  const vertices = useMemo(() => new Map(job.vertices.map((v) => [v.id, v])), [job])
  const focusOn = (id: string | undefined) => {
    if (id !== undefined) box.current?.querySelector<HTMLElement>(`[data-vertex="${CSS.escape(id)}"]`)?.focus({ preventScroll: true })
  }
  /** A card that gets the focus comes into view. */
  const reveal = (id: string) => {
    const at = layout?.places.find((p) => p.id === id)
    if (at) move((c) => revealed(c, at, width, height))
  }
  const detail = camera.scale >= 0.55 ? '' : camera.scale >= 0.22 ? 'graph-far' : 'graph-dots'
  return (
    <div class={`graph ${vertex !== undefined ? 'graph-with-side' : ''}`}>
      <div class="panel graph-panel">
        <div class="graph-tools row">
          <Legend going={going} />
          <span class="graph-zoom row">
            <button type="button" class="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.3)}>−</button>
            <button type="button" class="button" aria-label="Zoom in" onClick={() => zoom(1.3)}>+</button>
            <button type="button" class="button" onClick={fit}>Fit</button>
          </span>
        </div>
        <div
          ref={box}
          class={`graph-box ${detail}`}
          role="group"
          aria-label="Graph of the job. Arrow keys go from vertex to vertex."
          style={{ height: `${height}px` }}
          onKeyDown={(e) => {
            const from = (e.target as HTMLElement).dataset.vertex
            const to = layout && from !== undefined ? neighbour(layout.places, from, e.key) : undefined
            if (to === undefined) return
            e.preventDefault()
            focusOn(to)
          }}
        >
          {layout && (
            <div class="graph-plane" style={{ width: `${layout.width}px`, height: `${layout.height}px`, transform: `translate(${camera.x}px, ${camera.y}px) scale(${camera.scale})` }}>
              <Edges layout={layout} vertices={vertices} going={going} />
              {layout.places.map((at) => {
                const v = vertices.get(at.id)
                return v && (
                  <Card key={at.id} vertex={v} summary={summaries.get(at.id)} slow={slow} history={history} job={job.jid} x={at.x} y={at.y} selected={at.id === vertex} onFocus={() => reveal(at.id)} />
                )
              })}
            </div>
          )}
        </div>
      </div>
      {vertex !== undefined && <Side {...props} vertex={vertex} onClose={() => { go('jobs', job.jid, 'graph'); focusOn(vertex) }} />}
    </div>
  )
}

/** heightOf is the height of the box: that of the graph where it fits the width, within bounds. */
function heightOf(layout: Layout, width: number, down: boolean): number {
  const scale = Math.min(1, width / layout.width)
  const readable = Math.min(1100, layout.height * 0.6)
  const most = down ? 2400 : Math.max(420, Math.round(window.innerHeight * 0.62), readable)
  return Math.min(most, Math.max(220, Math.ceil(layout.height * scale) + 8))
}

function fitted(layout: Layout, width: number, height: number): Camera {
  const scale = Math.min(1, width / layout.width, height / layout.height)
  return { scale, x: (width - layout.width * scale) / 2, y: (height - layout.height * scale) / 2 }
}

function zoomed(c: Camera, by: number, at: { x: number; y: number }): Camera {
  const scale = Math.min(2, Math.max(0.05, c.scale * by))
  const ratio = scale / c.scale
  return { scale, x: at.x - (at.x - c.x) * ratio, y: at.y - (at.y - c.y) * ratio }
}

function revealed(c: Camera, at: { x: number; y: number }, width: number, height: number): Camera {
  const shift = (from: number, length: number, room: number) => (from < 8 ? 8 - from : from + length > room - 8 ? Math.min(8 - from, room - 8 - from - length) : 0)
  const dx = shift(c.x + at.x * c.scale, size.width * c.scale, width)
  const dy = shift(c.y + at.y * c.scale, size.height * c.scale, height)
  return dx === 0 && dy === 0 ? c : { ...c, x: c.x + dx, y: c.y + dy }
}

/** usePanning moves the graph with the pointer, and zooms with Ctrl and the wheel. The wheel alone scrolls the page. */
function usePanning(
  box: { current: HTMLDivElement | null },
  move: (f: (c: Camera) => Camera) => void,
  moved: { current: boolean },
  zoom: (by: number, at: { x: number; y: number }) => void,
) {
  const zooming = useRef(zoom)
  zooming.current = zoom
  useEffect(() => {
    const host = box.current!
    let last: { x: number; y: number } | undefined
    let dragged = 0
    const begin = (e: PointerEvent) => {
      if (e.button !== 0 || e.pointerType === 'touch') return
      last = { x: e.clientX, y: e.clientY }
      dragged = 0
    }
    const pan = (e: PointerEvent) => {
      if (!last) return
      const dx = e.clientX - last.x
      const dy = e.clientY - last.y
      dragged += Math.abs(dx) + Math.abs(dy)
      if (dragged < 5) return
      if (!host.hasPointerCapture(e.pointerId)) host.setPointerCapture(e.pointerId)
      last = { x: e.clientX, y: e.clientY }
      moved.current = true
      move((c) => ({ ...c, x: c.x + dx, y: c.y + dy }))
    }
    const end = () => { last = undefined }
    const click = (e: MouseEvent) => { // that ends a drag selects nothing
      if (dragged >= 5) {
        e.preventDefault()
        e.stopPropagation()
      }
      dragged = 0
    }
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey) return
      e.preventDefault()
      const at = host.getBoundingClientRect()
      zooming.current(Math.exp(-e.deltaY / 300), { x: e.clientX - at.left, y: e.clientY - at.top })
    }
    const drag = (e: DragEvent) => e.preventDefault()
    host.addEventListener('pointerdown', begin)
    host.addEventListener('pointermove', pan)
    host.addEventListener('pointerup', end)
    host.addEventListener('pointercancel', end)
    host.addEventListener('click', click, true)
    host.addEventListener('wheel', wheel, { passive: false })
    host.addEventListener('dragstart', drag)
    return () => {
      host.removeEventListener('pointerdown', begin)
      host.removeEventListener('pointermove', pan)
      host.removeEventListener('pointerup', end)
      host.removeEventListener('pointercancel', end)
      host.removeEventListener('click', click, true)
      host.removeEventListener('wheel', wheel)
      host.removeEventListener('dragstart', drag)
    }
  }, [])
}

/** Edges draws what flows between the vertices. They move while the job goes on. */
export function Edges({ layout, vertices, going }: { layout: Pick<Layout, 'width' | 'height' | 'edges'>; vertices: Map<string, Vertex>; going: boolean }) {
  const inputs = new Map<string, number>()
  const outputs = new Map<string, number>()
  for (const e of layout.edges) {
    inputs.set(e.to, (inputs.get(e.to) ?? 0) + 1)
    outputs.set(e.from, (outputs.get(e.from) ?? 0) + 1)
  }
  return (
    <svg class="graph-edges" width={layout.width} height={layout.height} role="img" aria-label="Edges, with the records and bytes that went over them">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0 0L8 4L0 8z" class="graph-arrow" />
        </marker>
      </defs>
      {layout.edges.map((e) => <EdgeOf key={`${e.from} ${e.to} ${e.num}`} edge={e} one={vertices.get(e.to)?.parallelism === 1} flow={flowOf(e, vertices, inputs, outputs)} going={going} />)}
    </svg>
  )
}

/**
 * flowOf is what went over an edge; undefined: nothing yet. Without passed it cannot be told apart from other edges, because tasks count
 * the sums of all their inputs and outputs, as Flink's do.
 */
function flowOf(e: Edge, vertices: Map<string, Vertex>, inputs: Map<string, number>, outputs: Map<string, number>): Flow | undefined {
  const to = vertices.get(e.to)
  const from = vertices.get(e.from)
  if (from && from['start-time'] <= 0) return undefined
  if (from && outputs.get(e.from) === 1) return { runs: from.status === 'RUNNING', passed: { records: from.metrics['write-records'], bytes: from.metrics['write-bytes'] } }
  if (to && inputs.get(e.to) === 1) return { runs: to.status === 'RUNNING', passed: { records: to.metrics['read-records'], bytes: to.metrics['read-bytes'] } }
  return from && { runs: from.status === 'RUNNING' }
}

interface Flow {
  runs: boolean
  passed?: { records: number; bytes: number }
}

const kinds: Record<string, string> = { HASH: 'by key', FORWARD: 'forward', REBALANCE: 'rebalance', RESCALE: 'rescale', BROADCAST: 'broadcast' }

function EdgeOf({ edge, one, flow, going }: { edge: Edge; one: boolean; flow?: Flow; going: boolean }) {
  const kind = one && edge.strategy === 'HASH' ? 'all to one' : kinds[edge.strategy] ?? edge.strategy.toLowerCase()
  return (
    <g>
      <path class={`graph-edge ${going && flow?.runs ? 'graph-edge-runs' : ''}`} d={edge.path} marker-end="url(#arrow)" />
      <g class="graph-label" transform={`translate(${edge.x} ${edge.y})`}>
        <text y="-9" text-anchor="middle" class="graph-label-kind">{kind}</text>
        {flow?.passed && <text y="18" text-anchor="middle">{count(flow.passed.records)} rec · {bytes(flow.passed.bytes)} in all</text>}
        {flow && !flow.passed && (
          <text y="18" text-anchor="middle">
            <title>Tasks count all that they write, and all that they read. This edge begins where several do, and ends where several do.</title>
            not counted apart
          </text>
        )}
      </g>
    </g>
  )
}

function Legend({ going }: { going: boolean }) {
  return (
    <span class="graph-legend row small muted" aria-hidden="true">
      <span>{going ? 'Now:' : 'Over its whole time:'}</span>
      <span><i class="dot dot-busy" />busy</span>
      <span><i class="dot dot-pressed" />back-pressured: waits for a slower consumer</span>
      <span><i class="dot dot-idle" />idle: waits for input</span>
    </span>
  )
}
