import 'uplot/dist/uPlot.min.css'
import './Chart.css'
import uPlot from 'uplot'
import { useEffect, useRef } from 'preact/hooks'
import { bytes, clock } from '../lib/format'

export interface Series {
  name: string
  tone: string // the name of a colour of tokens.css: "c1", "busy"
  values: (number | null)[]
  dashed?: boolean // for a limit
}

interface Props {
  title: string
  times: number[] // ms since 1970, rising
  series: Series[]
  format: (n: number) => string // with the unit
  least?: number // the scale goes up to this value at least; 0 if it is absent
  height?: number // pixels
}

/** Chart draws lines over time, with a legend that has the newest values, and the same as a sentence. */
export function Chart({ title, times, series, format, least = 0, height = 140 }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const now = useRef({ times, series }) // what a change of colours draws
  now.current = { times, series }
  const shape = series.map((s) => `${s.name} ${s.tone}`).join()
  useEffect(() => {
    const host = box.current
    if (!host) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(host, now.current.series, format, least, height), data(now.current.times, now.current.series), host)
    }
    draw()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: host.clientWidth, height }))
    resized.observe(host)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', draw)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, height])
  useEffect(() => {
    plot.current?.setData(data(times, series))
  }, [times, series])
  const newest = series.map((s) => ({ ...s, last: s.values.findLast((v) => v !== null) }))
  const words = newest.map((s) => `${s.name} ${s.last == null ? 'unknown' : format(s.last)}`).join(', ')
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {newest.map((s) => (
          <span key={s.name} class="chart-key">
            <span class="chart-dot" style={{ background: `var(--${s.tone})` }} />
            {s.name} <strong>{s.last == null ? '–' : format(s.last)}</strong>
          </span>
        ))}
      </figcaption>
      <div ref={box} class="chart-box" role="img" aria-label={`${title}: now ${words}`} />
    </figure>
  )
}

const data = (times: number[], series: Series[]) => [times.map((t) => t / 1000), ...series.map((s) => s.values)] as uPlot.AlignedData

/** The shortest time of a chart, in s. */
const shortest = 60

/** Steps of an axis of bytes: "256 MB" is a better mark than "238 MB". */
const powers = Array.from({ length: 50 }, (_, i) => 2 ** i)

function optionsOf(host: HTMLElement, series: Series[], format: (n: number) => string, least: number, height: number): uPlot.Options {
  const style = getComputedStyle(host)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = { stroke: colour('ink-3'), font: `11px ${colour('font')}`, grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } }
  return {
    width: host.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      // The first values would otherwise stand on a scale of years.
      x: {
        range: ({ data: [times] }) => {
          const last = times[times.length - 1] ?? 0
          return [Math.min(times[0] ?? last, last - shortest), last]
        },
      },
      y: { range: (_, __, max) => [0, Math.max(max, least) * 1.1 || 1] },
    },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((t) => clock(t * 1000)), space: 80, size: 24 },
      { ...axis, values: (_, ticks) => ticks.map(format), size: 70, space: 28, ...(format === bytes ? { incrs: powers } : {}) },
    ],
    series: [
      {},
      ...series.map((s) => ({ label: s.name, stroke: colour(s.tone), width: 1.5, dash: s.dashed ? [5, 4] : undefined, points: { show: (u: uPlot) => u.data[0].length < 3, size: 4 } })),
    ],
  }
}
