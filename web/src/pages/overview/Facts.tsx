import type { Application } from '../../lib/api'
import { clock, duration } from '../../lib/format'
import { toMaster } from '../../lib/master'
import { Badge } from '../../parts/Badge'
import { Facts, Panel } from '../../parts/Panel'
import { Table } from '../../parts/Table'

const day = 86_400_000

/** About tells which application this is for YARN. */
export function About({ app }: { app: Application }) {
  return (
    <Panel title="Application" actions={app.logUrl !== '' && <a href={app.logUrl}>Logs at its node</a>}>
      <Facts
        items={[
          ['Id', <span class="mono">{app.id}</span>],
          ['User', app.user || undefined],
          ['Queue', app.queue || undefined],
          ['Mode', app.mode || undefined],
          ['Submitted', app.submitted > 0 ? clock(app.submitted) : undefined],
          ['Attempt', `${app.attempt}, since ${clock(app.started)}`],
          ['High availability', app.highAvailability === '' ? 'off: jobs end with the master' : <span class="mono">{app.highAvailability}</span>],
          ['Master', <span class="mono">{app.address}</span>],
          ['ResourceManager', app.resourceManager || undefined],
          ['Version', [app.version, app.revision].filter((w) => w !== '').join(', revision ')],
        ]}
      />
    </Panel>
  )
}

/** Attempts are the starts of the master: more than one means that one was lost. */
export function Attempts({ app }: { app: Application }) {
  if (app.attempts.length < 2) return null
  return (
    <Panel title="Attempts of the master" note="each new one takes over from a master that was lost">
      <Table
        caption="Attempts of the master"
        rows={app.attempts}
        id={(a) => String(a.attempt)}
        columns={[
          { id: 'n', title: 'Attempt', value: (a) => a.attempt },
          { id: 'state', title: 'State', cell: (a) => a.state === '' ? 'ended' : <Badge state={a.state} tone={a.state === 'KILLED' ? 'bad' : undefined} /> },
          { id: 'node', title: 'Node', value: (a) => a.node ?? '–' },
          { id: 'began', title: 'Began', value: (a) => a.started, cell: (a) => a.started > 0 ? clock(a.started) : '–' },
          { id: 'took', title: 'Lasted', cell: (a) => (a.ended > 0 ? duration(a.ended - a.started) : '–') },
          { id: 'why', title: 'Why it ended', cell: (a) => a.diagnostics ?? '' },
        ]}
      />
    </Panel>
  )
}

/** Tokens tells until when the application can use HDFS and YARN on a secure cluster. */
export function Tokens({ app }: { app: Application }) {
  if (app.tokens.length === 0) return null
  const left = (end: number) => end - toMaster(Date.now())
  return (
    <Panel title="Delegation tokens">
      <Facts
        items={app.tokens.map((t) => [
          `${t.kind} ${t.service}`,
          t.end <= 0
            ? 'its end is not known'
            : <span class={left(t.end) < day ? 'soon' : undefined}>{left(t.end) > 0 ? `${duration(left(t.end))} left, until ${clock(t.end)}` : `ended ${clock(t.end)}`}</span>,
        ])}
      />
    </Panel>
  )
}
