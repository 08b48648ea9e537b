import { useEffect, useRef, useState } from 'preact/hooks'

/** useVisible tells which children of a box a reader can see. The children have data-key, in the order of keys. */
export function useVisible<E extends HTMLElement>(keys: string[]) {
  const box = useRef<E>(null)
  const [visible, tell] = useState<ReadonlySet<string>>(new Set())
  const all = keys.join('\n')
  useEffect(() => {
    const seen = new Set<string>()
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const key = (target as HTMLElement).dataset['key'] ?? ''
        if (isIntersecting) seen.add(key)
        else seen.delete(key)
      }
      tell(new Set(seen))
    })
    for (const child of box.current?.children ?? []) observer.observe(child)
    return () => observer.disconnect()
  }, [all])
  return { box, visible }
}
