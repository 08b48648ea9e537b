import { describe, expect, it } from 'vitest'
import { pathOf, protocolsOf, serviceOf } from './services'

describe('services', () => {
  it('are the protocols that were called', () => {
    expect(protocolsOf(['Rpc.protocol.New.v2.calls', 'Rpc.protocol.ClientProtocol.calls', 'Rpc.protocol.ClientProtocol.failures', 'Yarn.calls'])).toEqual(['ClientProtocol', 'New.v2'])
  })

  it('are asked for one by one, because users who may only look have 600 bytes', () => {
    expect(pathOf('ContainerManagementProtocol').length).toBeLessThan(400)
  })

  it('have the numbers that are known', () => {
    expect(serviceOf('A', [{ id: 'Rpc.protocol.A.calls', value: '7' }, { id: 'Rpc.protocol.A.latency_p99', value: 'NaN' }, { id: 'Rpc.protocol.B.latency_max', value: '3' }])).toEqual({ name: 'A', calls: 7 })
  })
})
