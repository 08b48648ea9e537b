// The arithmetic of a flame graph: where each function is drawn, and what a search finds.
import { ownerOf, packageOf } from './code'

export interface FlameNode {
  name: string
  value: number
  children: FlameNode[]
}

/** GET …/flamegraph. A negative time of the end says why there is no graph. */
export interface FlameAnswer {
  endTimestamp: number
  data?: FlameNode
  unit?: 'samples' | 'ms' | 'bytes'
  workers?: number
  sampled?: number
}

export const waiting = -1
export const disabled = -2
export const terminated = -3

export interface Frame {
  path: string // the names from the root, which identify the frame in the next graph, too
  name: string
  value: number
  level: number // from 0
  x: number // 0 to 1, of the width
  width: number
  parent?: string // path
}

const separator = '\n' // no name has one

/** at returns the node of a path, or the nearest one above it that is still there. */
export function at(root: FlameNode, path: string): { node: FlameNode; path: string } {
  const names = path.split(separator)
  let node = root
  let found = root.name
  for (const name of names.slice(1)) {
    const next = node.children.find((c) => c.name === name)
    if (!next) break
    node = next
    found += separator + name
  }
  return { node, path: found }
}

/** layout returns the frames of a graph that is zoomed to a path: those above it have the whole width. Narrow ones are left out. */
export function layout(root: FlameNode, zoom: string, narrowest = 0.001): Frame[] {
  const frames: Frame[] = []
  let node = root
  let path = root.name
  let parent: string | undefined
  let level = 0
  for (const name of at(root, zoom).path.split(separator).slice(1)) {
    frames.push({ path, name: node.name, value: node.value, level: level++, x: 0, width: 1, parent })
    node = node.children.find((c) => c.name === name)!
    parent = path
    path += separator + name
  }
  const draw = (n: FlameNode, of: string, above: string | undefined, depth: number, x: number, width: number) => {
    frames.push({ path: of, name: n.name, value: n.value, level: depth, x, width, parent: above })
    let left = x
    for (const c of [...n.children].sort((a, b) => b.value - a.value)) {
      const w = n.value > 0 ? (width * c.value) / n.value : 0
      if (w >= narrowest) draw(c, of + separator + c.name, of, depth + 1, left, w)
      left += w
    }
  }
  draw(node, path, parent, level, 0, 1)
  return frames
}

/** found returns the value of all functions whose name has a text. Their callees do not count twice. */
export function found(n: FlameNode, text: string): number {
  if (text === '') return 0
  if (n.name.toLowerCase().includes(text.toLowerCase())) return n.value
  return n.children.reduce((sum, c) => sum + found(c, text), 0)
}

export type Kind = 'user' | 'library' | 'runtime' | 'none'

/** kindOf tells the user's code from Bobbin and Go's library, and those from Go's runtime. The root, and "(others)", are no function. */
export function kindOf(name: string): Kind {
  if (name === 'root' || name.startsWith('(')) return 'none'
  if (ownerOf(name) === 'user') return 'user'
  return /^(runtime|internal\/runtime|syscall|internal\/poll|sync|time)($|\/)/.test(packageOf(name)) ? 'runtime' : 'library'
}

/** shortName leaves out the path of the package, and types in brackets: "github.com/x/y.(*T[int]).Run" is "y.(*T[…]).Run". */
export const shortName = (name: string) => name.replace(/\[.*\]/, '[…]').replace(/^.*\//, '')

export type Key = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'Home'

/** move returns the frame that a key leads to. */
export function move(frames: Frame[], from: string, key: string): string {
  const here = frames.find((f) => f.path === from) ?? frames[0]
  if (!here) return from
  const row = frames.filter((f) => f.level === here.level).sort((a, b) => a.x - b.x)
  const i = row.indexOf(here)
  const child = frames.filter((f) => f.parent === here.path).sort((a, b) => b.width - a.width)[0]
  switch (key as Key) {
    case 'ArrowUp': return here.parent ?? here.path
    case 'ArrowDown': return (child ?? here).path
    case 'ArrowLeft': return (row[i - 1] ?? here).path
    case 'ArrowRight': return (row[i + 1] ?? here).path
    case 'Home': return frames[0]!.path
    default: return here.path
  }
}
