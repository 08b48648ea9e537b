import './Table.css'
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'

export interface Column<R> {
  id: string
  title: string
  /** The value that rows are sorted by. Without it the column cannot be sorted. */
  value?: (row: R) => number | string
  /** The cell's content; the default is value. */
  cell?: (row: R) => ComponentChildren
  number?: boolean // right-aligned, and sorted from large to small first
  hint?: string
}

interface Props<R> {
  caption: string // for those who cannot see it
  columns: Column<R>[]
  rows: R[]
  id: (row: R) => string
  sort?: { by: string; down?: boolean } // at first; without it the rows keep their order
  mark?: (row: R) => string | undefined // a class for the row, for example of an outlier
  most?: number // rows shown until the reader asks for more; 100 if it is absent
}

/** Table is a table that the reader can sort by each column, by mouse and by keyboard. It scrolls in its own box. */
export function Table<R>({ caption, columns, rows, id, sort, mark, most = 100 }: Props<R>) {
  const [order, setOrder] = useState(sort)
  const [shown, setShown] = useState(most)
  const sorted = useMemo(() => sortRows(rows, columns.find((c) => c.id === order?.by)?.value, order?.down), [rows, columns, order])
  const click = (c: Column<R>) => setOrder({ by: c.id, down: order?.by === c.id ? !order.down : c.number })
  return (
    <div class="table-box scroll-x" tabIndex={0} role="region" aria-label={caption}>
      <table class="table">
        <caption class="hidden-text">{caption}</caption>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.id} scope="col" class={c.number ? 'num' : undefined} title={c.hint} aria-sort={order?.by !== c.id ? undefined : order.down ? 'descending' : 'ascending'}>
                {c.value ? <button type="button" onClick={() => click(c)}>{c.title}</button> : c.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, shown).map((row) => (
            <tr key={id(row)} class={mark?.(row)}>
              {columns.map((c) => (
                <td key={c.id} class={c.number ? 'num' : undefined}>{c.cell ? c.cell(row) : c.value?.(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length > shown && (
        <button type="button" class="button table-more" onClick={() => setShown(shown + 10 * most)}>
          Show {Math.min(10 * most, sorted.length - shown)} more of {sorted.length - shown}
        </button>
      )}
    </div>
  )
}

/** sortRows returns the rows in the order of their values; equal ones keep their order. */
export function sortRows<R>(rows: R[], value?: (row: R) => number | string, down = false): R[] {
  if (!value) return rows
  const keyed = rows.map((row) => ({ row, key: value(row) }))
  keyed.sort((a, b) => {
    const order = typeof a.key === 'number' && typeof b.key === 'number' ? a.key - b.key : String(a.key).localeCompare(String(b.key), 'en', { numeric: true })
    return down ? -order : order
  })
  return keyed.map((k) => k.row)
}
