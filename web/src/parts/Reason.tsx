import './Reason.css'

/** Reason is the text of a failure: its first line, and the others if the reader opens them. open: they are shown at once. */
export function Reason({ text, open }: { text: string; open?: boolean }) {
  const at = text.indexOf('\n')
  if (at < 0) return <>{text}</>
  return (
    <details class="reason" open={open}>
      <summary>{text.slice(0, at)}</summary>
      <pre tabIndex={0}>{text.slice(at + 1)}</pre>
    </details>
  )
}
