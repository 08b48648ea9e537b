// The places of the vertices of a plan. They depend on the plan alone, so they are computed once.
import dagre from '@dagrejs/dagre'
import type { Plan } from './api'

export const card = { width: 236, height: 150 }
const label = { width: 112, height: 34 }

/** From this many vertices on, edges may cross once more than they must: the search for the best order takes half a second. */
const manyNodes = 60

export interface Place {
  id: string
  x: number // of the card's left edge
  y: number
}

export interface Edge {
  from: string
  to: string
  num: number // of the input
  strategy: string
  path: string // of an SVG
  x: number // middle of the label
  y: number
}

export interface Layout {
  width: number
  height: number
  places: Place[] // along the flow of records, for the keyboard
  edges: Edge[]
}

/** keyOf identifies what a layout depends on. */
export const keyOf = (plan: Plan) =>
  plan.nodes.map((n) => `${n.id}:${(n.inputs ?? []).map((i) => `${i.id}/${i.ship_strategy}`).join(',')}`).join(';')

/** layOut places the vertices along the flow: from left to right, or from top to bottom on narrow screens. */
export function layOut(plan: Plan, down: boolean): Layout {
  const g = new dagre.graphlib.Graph({ multigraph: true })
  const many = plan.nodes.length > manyNodes
  g.setGraph({ rankdir: down ? 'TB' : 'LR', ranker: many ? 'tight-tree' : 'network-simplex', nodesep: down ? 28 : 24, ranksep: down ? 34 : 40, marginx: 12, marginy: 12 })
  g.setDefaultEdgeLabel(() => ({}))
  const known = new Set(plan.nodes.map((n) => n.id))
  for (const n of plan.nodes) g.setNode(n.id, { ...card })
  for (const n of plan.nodes) {
    for (const input of n.inputs ?? []) {
      if (known.has(input.id)) g.setEdge(input.id, n.id, { ...label, labelpos: 'c', strategy: input.ship_strategy }, String(input.num))
    }
  }
  dagre.layout(g, { disableOptimalOrderHeuristic: many })
  const size = g.graph() as { width?: number; height?: number }
  const places = plan.nodes.map((n) => {
    const at = g.node(n.id) as { x: number; y: number }
    return { id: n.id, x: at.x - card.width / 2, y: at.y - card.height / 2 }
  })
  places.sort((a, b) => (down ? a.y - b.y || a.x - b.x : a.x - b.x || a.y - b.y))
  const edges = g.edges().map((e) => {
    const at = g.edge(e) as { points: Point[]; x: number; y: number; strategy: string }
    return { from: e.v, to: e.w, num: Number(e.name), strategy: at.strategy, path: curve(at.points, down), x: at.x, y: at.y }
  })
  return { width: size.width ?? 0, height: size.height ?? 0, places, edges }
}

interface Point {
  x: number
  y: number
}

const round = (n: number) => Math.round(n * 10) / 10

/** curve joins points smoothly. It leaves and enters cards along the flow. */
export function curve(points: Point[], down: boolean): string {
  const first = points[0]
  if (!first) return ''
  let path = `M${round(first.x)} ${round(first.y)}`
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1]!
    const b = points[i]!
    const middle = down ? (a.y + b.y) / 2 : (a.x + b.x) / 2
    path += down
      ? `C${round(a.x)} ${round(middle)} ${round(b.x)} ${round(middle)} ${round(b.x)} ${round(b.y)}`
      : `C${round(middle)} ${round(a.y)} ${round(middle)} ${round(b.y)} ${round(b.x)} ${round(b.y)}`
  }
  return path
}

/** neighbour finds the card that an arrow key leads to: the nearest one in that direction. */
export function neighbour(places: Place[], from: string, key: string): string | undefined {
  const at = places.find((p) => p.id === from)
  const dx = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
  const dy = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
  if (!at || (dx === 0 && dy === 0)) return undefined
  let best: { id: string; cost: number } | undefined
  for (const p of places) {
    const along = dx * (p.x - at.x) + dy * (p.y - at.y)
    const aside = Math.abs(dx !== 0 ? p.y - at.y : p.x - at.x)
    if (along <= 1) continue
    const cost = along + 2 * aside
    if (!best || cost < best.cost) best = { id: p.id, cost }
  }
  return best?.id
}
