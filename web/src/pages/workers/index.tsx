import './workers.css'
import { OneWorker } from './Worker'
import { WorkerList } from './List'

/** WorkersPage lists the workers, or shows one: #/workers[/ID[/tab[/file]]]. */
export function WorkersPage({ args }: { args: string[] }) {
  const [id, tab, file] = args
  return id === undefined ? <WorkerList /> : <OneWorker key={id} id={id} tab={tab} file={file} />
}
