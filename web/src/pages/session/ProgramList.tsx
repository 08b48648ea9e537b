import { useState } from 'preact/hooks'
import { del } from '../../lib/api'
import { bytes, clock } from '../../lib/format'
import { refresh, usePoll } from '../../lib/poll'
import { Dialog } from '../../parts/Dialog'
import { Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import type { Program, Programs } from './api'
import { RunForm } from './RunForm'

/** ProgramList has the programs of the session, to plan, run and remove. */
export function ProgramList({ runs }: { runs: boolean }) {
  const answer = usePoll<Programs>('programs', 5000)
  const [open, show] = useState<string>()
  const [busy, work] = useState(false)
  const [gone, remove] = useState<Program>()
  return (
    <Panel title="Programs" note="that were uploaded to this session">
      <View of={answer} what="the programs">
        {({ programs }) => (programs.length === 0
          ? <Empty title="The session has no program.">Upload one here, or with <code>bobbin run</code>.</Empty>
          : (
            <ul class="programs">
              {programs.map((p) => (
                <li key={p.id}>
                  <div class="row">
                    <strong>{p.name}</strong>
                    <span class="muted small">{bytes(p.size)}, uploaded {clock(p.uploaded)}</span>
                    <span class="mono muted small" title={`SHA-256 ${p.id}`}>{p.id.slice(0, 12)}</span>
                    {runs && (
                      <span class="row program-acts">
                        <button type="button" class="button" aria-label={`Run ${p.name}…`} aria-expanded={open === p.id} disabled={busy} onClick={() => show(open === p.id ? undefined : p.id)}>Run…</button>
                        <button type="button" class="button button-bad" aria-label={`Remove ${p.name}…`} onClick={() => remove(p)}>Remove…</button>
                      </span>
                    )}
                  </div>
                  {open === p.id && <RunForm program={p} onBusy={work} onClose={() => show(undefined)} />}
                </li>
              ))}
            </ul>
          ))}
      </View>
      {gone && (
        <Dialog
          title={`Remove ${gone.name}?`} confirm="Remove the program" dismiss="Keep it" bad onClose={() => remove(undefined)}
          onConfirm={async () => { await del(`programs/${gone.id}`); refresh('programs') }}
        >
          <p>Its jobs continue. To run it again, it must be uploaded again.</p>
        </Dialog>
      )}
    </Panel>
  )
}
