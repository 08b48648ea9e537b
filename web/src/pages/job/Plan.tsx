import { useMemo, useState } from 'preact/hooks'
import { href } from '../../lib/route'
import { Panel } from '../../parts/Panel'
import type { Column } from '../../parts/Table'
import { Table } from '../../parts/Table'
import type { TabProps } from './tab'
import type { PlanNode } from './api'
import { stepsOf } from './diagnosis'
import { keyOf } from './layout'
import { NoVertices } from './NoVertices'

type Numbered = PlanNode & { number: number; name: string }

/** PlanTab shows what the job was planned as: its vertices, their steps and inputs. */
export function PlanTab({ job }: TabProps) {
  const [open, setOpen] = useState(false)
  const key = keyOf(job.plan)
  const { rows, columns } = useMemo(() => {
    const names = new Map(job.vertices.map((v) => [v.id, v.name])) // the descriptions of Flink's archives are HTML
    const rows: Numbered[] = job.plan.nodes.map((n, i) => ({ ...n, number: i + 1, name: names.get(n.id) ?? n.description }))
    const numbers = new Map(rows.map((n) => [n.id, n.number]))
    const columns: Column<Numbered>[] = [
      { id: 'number', title: 'Vertex', value: (n) => n.number, cell: (n) => <a href={href('jobs', job.jid, 'graph', n.id)}>{n.number}</a> },
      { id: 'steps', title: 'Steps', value: (n) => n.name, cell: (n) => <ol class="side-steps">{stepsOf(n.name).map((s, i) => <li key={i}>{s}</li>)}</ol> },
      { id: 'parallelism', title: 'Parallelism', number: true, value: (n) => n.parallelism },
      {
        id: 'inputs', title: 'Inputs', cell: (n) => (n.inputs ?? []).length === 0
          ? <span class="muted">source</span>
          : <ul class="plain">{n.inputs!.map((i) => <li key={i.num} class="nowrap">{numbers.get(i.id) ?? i.id}, {i.ship_strategy.toLowerCase()}, {i.exchange.toLowerCase().replaceAll('_', ' ')}</li>)}</ul>,
      },
      { id: 'group', title: 'Slot sharing group', value: (n) => n.slotSharingGroup ?? 'default' },
    ]
    return { rows, columns }
  }, [job.jid, key])
  if (rows.length === 0) return <NoVertices job={job} />
  return (
    <Panel title="Plan">
      <div class="stack">
        <Table caption="Vertices of the plan" columns={columns} rows={rows} id={(n) => n.id} />
        <details onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>As JSON</summary>
          {open && <pre class="plan-json" tabIndex={0}>{JSON.stringify(job.plan, null, 2)}</pre>}
        </details>
      </div>
    </Panel>
  )
}
