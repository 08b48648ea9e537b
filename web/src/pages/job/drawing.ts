// Drawing of a time line on a canvas, which is as large as the box that scrolls.
import type { TaskState } from '../../lib/api'
import { plural } from '../../lib/format'
import { shortName } from './diagnosis'
import type { Row } from './timeline'
import { subtaskWord, ticksOf, tickWord } from './timeline'

export const rowHeight = 20
export const axisHeight = 26
export const labelWidth = 190

/** colourOf names the colours of states in tokens.css. */
export const colourOf: Partial<Record<TaskState, string>> = {
  CREATED: '--line-strong', SCHEDULED: '--warn', DEPLOYING: '--c3', INITIALIZING: '--c3', RUNNING: '--run', CANCELING: '--quiet',
}

/** ends marks how an attempt has ended. */
const ends: Partial<Record<TaskState, [colour: string, mark: string]>> = {
  FINISHED: ['--good', '✓'], FAILED: ['--bad', '✕ failed'], CANCELED: ['--quiet', '– canceled'],
}

interface View {
  rows: Row[]
  from: number
  to: number
  at?: number
}

/** draw draws the rows in view. */
export function draw(canvas: HTMLCanvasElement, box: HTMLElement, { rows, from, to, at }: View) {
  const width = box.clientWidth
  const height = box.clientHeight
  const ratio = window.devicePixelRatio || 1
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  canvas.style.marginBottom = `${-height}px` // it takes no room in what scrolls
  const c = canvas.getContext('2d')
  if (!c) return
  c.scale(ratio, ratio)
  const style = getComputedStyle(box)
  const known = new Map<string, string>()
  const colour = (name: string) => {
    let value = known.get(name)
    if (value === undefined) known.set(name, (value = style.getPropertyValue(name).trim()))
    return value
  }
  const font = colour('--font')
  const labels = Math.min(labelWidth, Math.round(width * 0.36))
  const room = width - labels - 12
  const x = (t: number) => labels + ((t - from) / (to - from)) * room
  c.fillStyle = colour('--surface')
  c.fillRect(0, 0, width, height)
  c.textBaseline = 'middle'

  const ticks = ticksOf(to - from, Math.max(2, room / 90))
  c.strokeStyle = colour('--line')
  c.beginPath()
  for (const t of ticks) {
    const at = Math.round(x(from + t)) + 0.5
    c.moveTo(at, axisHeight)
    c.lineTo(at, height)
  }
  c.stroke()

  const top = box.scrollTop
  const first = Math.max(0, Math.floor(top / rowHeight))
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight))
  for (let i = first; i < last; i++) {
    const row = rows[i]!
    const y = axisHeight + i * rowHeight - top
    const middle = y + rowHeight / 2
    if (i === at) {
      c.fillStyle = colour('--sunken')
      c.fillRect(0, y, width, rowHeight)
    }
    if (row.kind === 'vertex') {
      c.fillStyle = colour('--ink')
      c.font = `600 12px ${font}`
      text(c, shortName(row.name, 100), 4, middle, labels - 10)
      if (row.to > 0) {
        c.fillStyle = colour('--line-strong')
        c.fillRect(x(row.from), middle - 1.5, Math.max(1, x(row.to) - x(row.from)), 3)
      }
      if (row.omitted > 0) {
        const words = `${plural(row.omitted, 'attempt')} left out`
        c.font = `11px ${font}`
        c.fillStyle = colour(i === at ? '--sunken' : '--surface')
        c.fillRect(labels + 8, y + 2, c.measureText(words).width + 12, rowHeight - 4)
        c.fillStyle = colour('--ink-2')
        c.fillText(words, labels + 14, middle)
      }
      continue
    }
    c.fillStyle = colour('--ink-2')
    c.font = `11px ${font}`
    const a = row.attempt
    text(c, `${labels < 150 ? '' : 'subtask '}${subtaskWord(a.subtask, labels < 150 ? 0 : row.subtasks)}${a.attempt > 0 ? `, attempt ${a.attempt + 1}` : ''}`, 16, middle, labels - 22)
    for (const b of row.bars) {
      c.fillStyle = colour(colourOf[b.state] ?? '--quiet')
      c.fillRect(x(b.from), y + 3, Math.max(1, x(b.to) - x(b.from)), rowHeight - 6)
    }
    const end = ends[a.status]
    const bar = row.bars.at(-1)
    if (end && bar) {
      const right = x(bar.to)
      c.fillStyle = colour(end[0])
      c.fillRect(right - 2, y + 2, 3, rowHeight - 4)
      c.font = `600 11px ${font}`
      const wide = c.measureText(end[1]).width
      const inside = right + wide + 8 > width
      const fits = !inside || right - x(bar.from) > wide + 12
      if (inside) c.fillStyle = colour('--surface')
      if (fits) c.fillText(end[1], inside ? right - wide - 8 : right + 5, middle)
    }
  }

  c.fillStyle = colour('--surface')
  c.fillRect(0, 0, width, axisHeight)
  c.fillStyle = colour('--ink-3')
  c.font = `11px ${font}`
  let free = 0
  for (const t of ticks) {
    const word = tickWord(t)
    const wide = c.measureText(word).width
    const at = Math.min(x(from + t), width - wide - 2)
    if (at < free) continue
    c.fillText(word, at, axisHeight / 2)
    free = at + wide + 6
  }
  c.fillStyle = colour('--line')
  c.fillRect(0, axisHeight - 1, width, 1)
}

/** text draws a text, and cuts it where the room ends. */
function text(c: CanvasRenderingContext2D, words: string, x: number, y: number, room: number) {
  let shown = words
  if (c.measureText(shown).width > room) {
    let low = 0
    let high = shown.length
    while (low < high) {
      const half = Math.ceil((low + high) / 2)
      if (c.measureText(`${words.slice(0, half)}…`).width <= room) low = half
      else high = half - 1
    }
    shown = `${words.slice(0, low)}…`
  }
  c.fillText(shown, x, y)
}
