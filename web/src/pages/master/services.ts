// The latencies of what the master calls, from its metrics.

/** Service is one of Hadoop's protocols. */
export interface Service {
  name: string
  calls?: number // since the start
  failures?: number
  median?: number // ms
  p99?: number
  max?: number
}

/** about says who answers a protocol. */
export const about: Record<string, string> = {
  ApplicationMasterProtocol: 'YARN’s ResourceManager: workers',
  ApplicationClientProtocol: 'YARN’s ResourceManager: reports',
  ContainerManagementProtocol: 'NodeManagers: starts and stops of containers',
  ClientProtocol: 'HDFS’s NameNode',
}

const prefix = 'Rpc.protocol.'
const fields = { calls: 'calls', failures: 'failures', median: 'latency_median', p99: 'latency_p99', max: 'latency_max' } as const

/** protocolsOf returns the protocols whose metrics are among the names. */
export function protocolsOf(names: string[]): string[] {
  return names.filter((n) => n.startsWith(prefix) && n.endsWith('.calls')).map((n) => n.slice(prefix.length, -'.calls'.length)).sort()
}

/** pathOf asks for the metrics of one protocol: REST bounds the length of a query. */
export const pathOf = (protocol: string) => `jobmanager/metrics?get=${Object.values(fields).map((f) => `${prefix}${protocol}.${f}`).join(',')}`

/** serviceOf reads the answer. */
export function serviceOf(protocol: string, metrics: { id: string; value?: string }[]): Service {
  const one: Service = { name: protocol }
  for (const [field, name] of Object.entries(fields)) {
    const n = Number(metrics.find((m) => m.id === `${prefix}${protocol}.${name}`)?.value)
    if (Number.isFinite(n)) one[field as keyof typeof fields] = n
  }
  return one
}
