// Prints the licences of all packages in Scalar's bundle, for `make docs-ui`.
// It runs where the packages are installed and reads the bundle's source map.
import { existsSync, readFileSync, readdirSync } from 'node:fs'

const scalar = 'node_modules/@scalar/api-reference'
const { sources } = JSON.parse(readFileSync(`${scalar}/dist/browser/standalone.js.map`))

const inside = new Set(['@scalar/api-reference'])
for (const name of sources) {
  const own = name.match(/^(?:\.\.\/)+([^/.]+)\/(?:dist|src)\//) // of Scalar's own repository
  const other = name.match(/.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/)
  if (other) inside.add(other[1])
  else if (own) inside.add(`@scalar/${own[1]}`)
}

// Scalar's packages come without its licence: https://github.com/scalar/scalar/blob/main/LICENSE
const ofScalar = `MIT License

Copyright (c) 2023-present Scalar

${readFileSync('node_modules/@vue/shared/LICENSE', 'utf8').replace(/^[^]*?(?=Permission)/, '').trim()}`

const folder = (name) => [`node_modules/${name}`, ...readdirSync('node_modules').map((p) => `node_modules/${p}/node_modules/${name}`)].find(existsSync)

const terms = (name) => {
  if (name.startsWith('@scalar/') && name !== '@scalar/typebox') return ofScalar
  const where = folder(name)
  if (!where) return 'Not among the packages that are installed with it.'
  const file = readdirSync(where).find((f) => /^licen[cs]e/i.test(f))
  if (file) return readFileSync(`${where}/${file}`, 'utf8').replaceAll('\r', '').trim()
  const { license, author } = JSON.parse(readFileSync(`${where}/package.json`))
  return `Licence: ${license ?? 'not stated'}. Author: ${author?.name ?? author ?? 'not stated'}.`
}

const byTerms = new Map()
for (const name of [...inside].sort()) {
  const text = terms(name)
  byTerms.set(text, [...(byTerms.get(text) ?? []), name])
}

console.log('The page at /docs is Scalar (https://github.com/scalar/scalar). Its bundle holds\nthe packages below, each with its terms.')
for (const [text, names] of byTerms) console.log(`\n${'='.repeat(75)}\n${names.join(', ')}\n\n${text}`)
