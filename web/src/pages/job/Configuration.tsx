import { useMemo, useState } from 'preact/hooks'
import { usePoll } from '../../lib/poll'
import { Facts, Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import type { Column } from '../../parts/Table'
import { Table } from '../../parts/Table'
import type { TabProps } from './tab'
import type { JobConfig } from './api'

type Entry = [key: string, value: string]

const columns: Column<Entry>[] = [
  { id: 'key', title: 'Option', value: ([key]) => key, cell: ([key]) => <code>{key}</code> },
  { id: 'value', title: 'Value', value: ([, value]) => value, cell: ([, value]) => <code class="config-value">{value}</code> },
]

/** ConfigurationTab shows the options that the job was planned with. */
export function ConfigurationTab({ job }: TabProps) {
  const config = usePoll<JobConfig>(`jobs/${job.jid}/config`, 60_000)
  const [text, find] = useState('')
  const entries = useMemo(() => Object.entries(config.data?.['execution-config']?.['user-config'] ?? {}).sort(([a], [b]) => a.localeCompare(b)), [config.data])
  const found = entries.filter(([key, value]) => `${key}\n${value}`.toLowerCase().includes(text.toLowerCase()))
  return (
    <Panel title="Configuration" note="that the job was planned with; what may be secret is hidden">
      <View of={config} what="the configuration">
        {({ 'execution-config': c }) => (
          <div class="stack">
            <Facts items={[['Parallelism', c?.['job-parallelism']], ['Restart strategy', c?.['restart-strategy']]]} />
            {entries.length === 0
              ? <Empty title="No option was set for this job." />
              : (
                <>
                  <input class="input" type="search" placeholder="Find an option" aria-label="Find an option" value={text} onInput={(e) => find(e.currentTarget.value)} />
                  {found.length === 0 ? <Empty title={`No option has “${text}”.`} /> : <Table caption="Options of the job" columns={columns} rows={found} id={([key]) => key} most={200} />}
                </>
              )}
          </div>
        )}
      </View>
    </Panel>
  )
}
