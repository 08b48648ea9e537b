import './Dialog.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Reason } from './Reason'

interface Props {
  title: string
  confirm: string // the verb on the button: "Cancel the job"
  dismiss?: string // the other button
  bad?: boolean // the action destroys something
  onConfirm: () => Promise<void> | void // must end in bounded time; a thrown error is shown, and the dialog stays
  onClose: () => void
  children: ComponentChildren
}

/** Dialog asks for confirmation. It is open as long as it is rendered, and cannot be closed until the result is known. */
export function Dialog({ title, confirm, dismiss = 'Leave it', bad, onConfirm, onClose, children }: Props) {
  const id = useId()
  const box = useRef<HTMLDialogElement>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  useEffect(() => {
    const before = document.activeElement
    box.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const act = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      onClose()
    } catch (e) {
      setError(e instanceof Error ? e.message : String(e))
      setBusy(false)
    }
  }
  return (
    <dialog ref={box} class="dialog" aria-labelledby={id} onCancel={(e) => { if (busy) e.preventDefault() }} onClose={() => (busy ? box.current?.showModal() : onClose())}>
      <form method="dialog" class="stack" onSubmit={(e) => { e.preventDefault(); void act() }}>
        <h2 id={id}>{title}</h2>
        <div class="stack">{children}</div>
        {error !== undefined && <div class="dialog-error" role="alert"><Reason text={error} /></div>}
        {busy && <p class="muted" role="status">Asking the master, for a minute at most…</p>}
        <div class="row dialog-buttons">
          <button type="button" class="button" disabled={busy} onClick={onClose}>{dismiss}</button>
          <button type="submit" class={`button ${bad ? 'button-bad' : 'button-main'}`} disabled={busy}>{confirm}</button>
        </div>
      </form>
    </dialog>
  )
}
