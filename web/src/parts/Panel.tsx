import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface Props {
  title: string
  note?: ComponentChildren // small words beside the title
  actions?: ComponentChildren
  children: ComponentChildren
  class?: string
}

/** Panel is a section of a page with a title. */
export function Panel({ title, note, actions, children, class: more }: Props) {
  const id = useId()
  return (
    <section class={`panel ${more ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="muted small">{note}</span>}
        {actions !== undefined && <span class="actions row">{actions}</span>}
      </div>
      <div class="panel-body">{children}</div>
    </section>
  )
}

/** Facts is a list of names and values. Values that are undefined are left out. */
export function Facts({ items }: { items: [string, ComponentChildren | undefined][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => value !== undefined && [<dt key={name}>{name}</dt>, <dd key={`${name}-`}>{value}</dd>])}
    </dl>
  )
}
