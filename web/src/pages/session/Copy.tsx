interface Props {
  text: string
  /** A page without TLS has none, as through YARN's proxy. */
  clipboard?: Pick<Clipboard, 'writeText'>
  said?: string // how the last try went
  say: (words: string) => void
}

/** Copy puts a text on the clipboard, if the browser lets the page do so. */
export function Copy({ text, clipboard, said, say }: Props) {
  if (!clipboard) return null
  const copy = () => clipboard.writeText(text).then(() => say('Copied.'), () => say('The browser did not copy it: select the command instead.'))
  return (
    <>
      <button type="button" class="button" onClick={() => void copy()}>Copy</button>
      <span class="small muted" role="status">{said}</span>
    </>
  )
}
