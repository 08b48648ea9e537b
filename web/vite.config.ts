import { readFileSync } from 'node:fs'
import { defineConfig } from 'vite'

// The licences ask that each copy carries their notices.
const notice = readFileSync(new URL('licences.txt', import.meta.url), 'utf8').trim()

// The first part of each path of the REST interface. Everything else is a file of the page.
const rest = '^/(access|application|attempts|blocklist|cluster|config|datasets|drivers|files|jars|jobmanager|jobs|metrics|overview|programs|slots|start|taskmanagers|v1)(/|\\?|$)'

// BOBBIN_REST is the address of a running session, for `npx vite`: for example its address at YARN's proxy.
const target = new URL(process.env.BOBBIN_REST ?? 'http://localhost:8081/')

export default defineConfig({
  base: './', // the page works below any prefix
  server: {
    proxy: {
      [rest]: { target: target.origin, changeOrigin: true, rewrite: (path) => target.pathname.replace(/\/$/, '') + path },
    },
  },
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    license: false,
    rolldownOptions: {
      output: {
        // Fixed names: the server tells versions apart by ETag, and a commit shows what changed.
        entryFileNames: 'page/page.js',
        assetFileNames: 'page/page.[ext]',
        codeSplitting: false,
        postBanner: (chunk) => (chunk.isEntry ? `/*!\n${notice}\n*/` : ''),
      },
    },
  },
})
