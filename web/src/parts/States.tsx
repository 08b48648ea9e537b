import './States.css'
import type { ComponentChildren } from 'preact'
import type { Failure } from '../lib/ask'
import type { Polled } from '../lib/poll'
import { refresh } from '../lib/poll'
import { clock } from '../lib/format'
import { Reason } from './Reason'

/** Loading stands where an answer will be. The wait is not shown for its first moment. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="state state-loading" role="status">
      <span class="state-bar" aria-hidden="true" />
      <p>Asking for {what}…</p>
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children !== undefined && <div class="muted">{children}</div>}
    </div>
  )
}

export function Broken({ what, error }: { what: string; error: Failure }) {
  return (
    <div class="state state-bad" role="alert">
      <p class="state-title">There is no answer for {what}.</p>
      <div><Reason text={error.message} /></div>
      <button type="button" class="button" onClick={() => refresh()}>Ask again</button>
    </div>
  )
}

export function Gone({ what, children }: { what: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">There is nothing here about {what}.</p>
      <div class="muted">{children ?? 'It has ended and was dropped, or it was never here.'}</div>
    </div>
  )
}

/** AsOf says since when numbers stand whose last question failed: of several, the oldest. If no part gets an answer, the frame has the reason. */
export function AsOf({ of }: { of: Polled<unknown> | Polled<unknown>[] }) {
  const oldest = [of].flat().reduce<Polled<unknown> | undefined>((a, b) => ((b.staleSince ?? Infinity) < (a?.staleSince ?? Infinity) ? b : a), undefined)
  if (oldest?.staleSince === undefined) return null
  const { staleSince, error } = oldest
  const own = error !== undefined && error.status !== 0
  return <div class={`stale ${own ? '' : 'stale-all'}`} role="status">As of <strong>{clock(staleSince)}</strong>. {own && <Reason text={error.message} />}</div>
}

interface ViewProps<T> {
  of: Polled<T>
  what: string // with its article: "the job"
  gone?: ComponentChildren
  children: (data: T) => ComponentChildren
}

/** View shows an answer in each of its states. */
export function View<T>({ of, what, gone, children }: ViewProps<T>) {
  if (of.gone) return <Gone what={what}>{gone}</Gone>
  if (of.data === undefined) return of.error ? <Broken what={what} error={of.error} /> : <Loading what={what} />
  return (
    <>
      <AsOf of={of} />
      {children(of.data)}
    </>
  )
}
