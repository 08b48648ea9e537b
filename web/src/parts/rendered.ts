// For tests: what components without hooks render, without a browser.
import type { ComponentChildren, VNode } from 'preact'

/** An element with its own attributes and its text, children's included. */
export interface Element {
  type: string
  props: Record<string, unknown>
  text: string
}

/** rendered returns all elements, a parent after its children. */
export function rendered(of: ComponentChildren): Element[] {
  const found: Element[] = []
  const walk = (node: ComponentChildren): string => {
    if (node === null || node === undefined || typeof node === 'boolean') return ''
    if (Array.isArray(node)) return node.map(walk).join('')
    if (typeof node !== 'object') return String(node)
    const { type, props } = node as VNode<{ children?: ComponentChildren }>
    if (typeof type === 'function') return walk((type as (props: object) => ComponentChildren)(props))
    const text = walk(props.children)
    if (typeof type === 'string') found.push({ type, props: props as Record<string, unknown>, text })
    return text
  }
  walk(of)
  return found
}

/** textOf returns the text of what is rendered. */
export const textOf = (of: ComponentChildren) => rendered({ type: 'all', props: { children: of } } as never).at(-1)!.text
