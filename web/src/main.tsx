import './style/tokens.css'
import './style/base.css'
import { render } from 'preact'
import { App } from './App'

render(<App />, document.getElementById('page')!)
