import '../workers/workers.css'
import { useState } from 'preact/hooks'
import { clock, plural } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { Facts, Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import { Table } from '../../parts/Table'
import type { OwnTab } from '../../parts/process/Process'
import { Process } from '../../parts/process/Process'
import { Services } from './Services'

const own: OwnTab[] = [
  { id: 'services', title: 'YARN and HDFS', show: () => <Services /> },
  { id: 'configuration', title: 'Configuration', show: () => <Configuration /> },
  { id: 'blocklist', title: 'Blocklist', show: () => <BlocklistTab /> },
]

const base = 'jobmanager'

/** MasterPage shows the ApplicationMaster: #/master[/tab[/file]]. */
export function MasterPage({ args: [tab, file] }: { args: string[] }) {
  return (
    <>
      <div class="page-head"><h1>Master</h1><span class="muted">the ApplicationMaster's process</span></div>
      <Process what="the master" page="master" args={[]} base={base} tab={tab} file={file} own={own} />
    </>
  )
}

interface Environment {
  jvm: { version: string; arch: string; options: string[] }
}

function Configuration() {
  const options = usePoll<{ key: string; value: string }[]>(`${base}/config`, 60_000)
  const environment = usePoll<Environment>(`${base}/environment`, 60_000)
  const [text, setText] = useState('')
  const wanted = text.toLowerCase()
  return (
    <>
      <Panel title="Environment">
        <View of={environment} what="the environment">
          {({ jvm }) => <Facts items={[['Go', jvm.version], ['Platform', jvm.arch], ['Limits', jvm.options.length > 0 ? <code>{jvm.options.join('  ')}</code> : undefined]]} />}
        </View>
      </Panel>
      <Panel title="Options in force" note="Secrets are hidden." actions={<label class="row small">Find <input class="input" type="search" value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>}>
        <View of={options} what="the options">
          {(all) => {
            const shown = all.filter((o) => `${o.key} ${o.value}`.toLowerCase().includes(wanted))
            return shown.length === 0 ? <Empty title="No option has this text." /> : (
              <Table
                caption="Options in force" rows={shown} id={(o) => o.key} most={500}
                columns={[
                  { id: 'key', title: 'Option', value: (o) => o.key, cell: (o) => <code>{o.key}</code> },
                  { id: 'value', title: 'Value', value: (o) => o.value, cell: (o) => <code>{o.value}</code> },
                ]}
              />
            )
          }}
        </View>
      </Panel>
    </>
  )
}

interface Blocklist {
  nodes: { node: string; cause: string; until: number }[]
}

function BlocklistTab() {
  const list = usePoll<Blocklist>('blocklist', 5000)
  return (
    <Panel title="Blocked nodes" note="A job that has failed on a node takes no slots there for some time.">
      <View of={list} what="the blocklist">
        {({ nodes }) => nodes.length === 0 ? <Empty title="No node is blocked." /> : (
          <>
            <p class="small muted">{plural(nodes.length, 'node')}</p>
            <Table
              caption="Blocked nodes" rows={nodes} id={(n) => n.node}
              columns={[
                { id: 'node', title: 'Node', value: (n) => n.node },
                { id: 'cause', title: 'Why', value: (n) => n.cause },
                { id: 'until', title: 'Until', number: true, value: (n) => n.until, cell: (n) => clock(n.until) },
              ]}
            />
          </>
        )}
      </View>
    </Panel>
  )
}
