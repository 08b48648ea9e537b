import { expect, it } from 'vitest'
import { rendered, textOf } from '../../parts/rendered'
import { Copy } from './Copy'

// Through YARN's proxy the button did nothing.
it('copies only where the browser can, and says when it did not', async () => {
  const said: string[] = []
  const of = (clipboard?: { writeText: () => Promise<void> }) => Copy({ text: 'bobbin open', clipboard, said: said.at(-1), say: (words) => said.push(words) })
  const click = (clipboard: { writeText: () => Promise<void> }) => {
    const button = rendered(of(clipboard)).find((e) => e.type === 'button')!
    ;(button.props['onClick'] as () => void)()
    return new Promise((done) => setTimeout(done))
  }
  expect(of(undefined)).toBeNull()
  await click({ writeText: () => Promise.resolve() })
  const refuses = { writeText: () => Promise.reject(new Error('NotAllowedError')) }
  await click(refuses)
  expect(said).toEqual(['Copied.', expect.stringContaining('did not copy')])
  expect(textOf(of(refuses))).toContain('did not copy')
})
