import type { Ref } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { post } from '../../lib/api'
import { bytes } from '../../lib/format'
import { refresh } from '../../lib/poll'
import { Reason } from '../../parts/Reason'
import type { Program } from './api'
import { uploadTime } from './api'

/** Upload sends a program to the session. */
export function Upload() {
  const input = useRef<HTMLInputElement>(null)
  const [file, choose] = useState<File>()
  const [state, tell] = useState<{ busy?: boolean; words?: string; bad?: boolean }>({})
  const send = async (chosen: File) => {
    tell({ busy: true, words: `Sending ${chosen.name}, ${bytes(chosen.size)}…` })
    try {
      const added = await post<Program>(`programs?name=${encodeURIComponent(chosen.name)}`, chosen, uploadTime(chosen.size))
      tell({ words: `The session has ${added.name}.` })
      choose(undefined)
      if (input.current) input.current.value = ''
      refresh('programs')
    } catch (e) {
      tell({ words: e instanceof Error ? e.message : String(e), bad: true })
    }
  }
  return (
    <form class="stack upload" onSubmit={(e) => { e.preventDefault(); if (file) void send(file) }}>
      <label class="row">
        <span>Program</span>
        <FileField field={input} busy={state.busy === true} onChoose={(chosen) => { choose(chosen); tell({}) }} />
      </label>
      <p class="muted small">An executable for Linux, as <code>go build</code> makes it.</p>
      <div class="row">
        <button type="submit" class="button button-main" disabled={!file || state.busy}>Upload</button>
        {state.words !== undefined && <div class={state.bad ? 'session-bad' : 'muted'} role="status"><Reason text={state.words} /></div>}
      </div>
    </form>
  )
}

/** FileField takes no other file while one is sent: the form would forget that it sends. */
export function FileField({ field, busy, onChoose }: { field?: Ref<HTMLInputElement>; busy: boolean; onChoose: (file?: File) => void }) {
  return <input ref={field} class="input" type="file" disabled={busy} onChange={(e) => onChoose(e.currentTarget.files?.[0])} />
}
