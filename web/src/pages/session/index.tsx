import './session.css'
import { useState } from 'preact/hooks'
import type { Access, Config } from '../../lib/api'
import { clock } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { Panel } from '../../parts/Panel'
import { View } from '../../parts/States'
import { DriverList, JobActs, Shutdown } from './Acts'
import { Copy } from './Copy'
import { ProgramList } from './ProgramList'
import { Upload } from './Upload'

/** SessionPage is where things are changed: programs are uploaded and run, jobs are cancelled. */
export function SessionPage(_: { args: string[] }) {
  const config = usePoll<Config>('config', 60_000)
  const access = usePoll<Access>('access', 30_000)
  const submits = config.data?.features['web-submit'] === true
  const runs = submits && access.data?.run === true
  const changes = access.data?.change === true
  return (
    <>
      <h1>{config.data && !submits ? 'Application' : 'Session'}</h1>
      <View of={access} what="what you may do here" gone="This master does not let browsers change anything.">
        {(a) => (a.change || a.run ? <Until access={a} /> : <WayIn command={a.how} user={a.user} />)}
      </View>
      {runs && <Panel title="Upload a program"><Upload /></Panel>}
      {submits
        ? <ProgramList runs={runs} />
        : config.data && <p class="muted">This application runs the jobs of one program. A session also takes uploads.</p>}
      {submits && <DriverList runs={runs} />}
      <JobActs changes={changes} />
      {changes && config.data && <Shutdown session={submits} />}
    </>
  )
}

/** Until tells a browser with a cookie how long it may change something. */
function Until({ access: { user, until } }: { access: Access }) {
  return until < 0 ? null : <p class="muted">This browser has the rights of {user} here until {clock(until)}, or until another master takes over.</p>
}

/** WayIn tells how to open the page for changes. */
function WayIn({ command, user }: { command: string; user: string }) {
  const [said, say] = useState<string>()
  return (
    <section class="way-in" aria-label="How to change something">
      <h2>This page only looks here</h2>
      <p>{user !== '' && `You are ${user}. `}To upload, run or cancel something, open the page by this command, on a machine where you use Bobbin. It prints a link that works once.</p>
      <div class="row">
        <code class="way-command">{command}</code>
        <Copy text={command} clipboard={navigator.clipboard as Clipboard | undefined} said={said} say={say} />
      </div>
    </section>
  )
}
