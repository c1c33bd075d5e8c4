// Shows the document with Scalar and fixes what Scalar lacks.
'use strict'

const place = document.querySelector('#docs').dataset
const here = new URL(place.base.replace(/^\//, '') || '.', location.href).href.replace(/\/$/, '')

// Requests from the page go to the server that served it, not to the production
// and staging addresses in the document.
const servers = () => {
  const all = [{ url: here, description: 'This server' }]
  if (place.public && place.public !== here) all.push({ url: place.public, description: 'Its public address' })
  return all
}

// JSON.parse rounds integers above 2^53, and Scalar shows what it parses.
// Browsers with JSON.rawJSON can keep them exact.
const keepNumbersExact = () => {
  const { parse, rawJSON } = JSON
  if (!rawJSON) return
  const keep = (_, value, { source }) => (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? rawJSON(source) : value)
  JSON.parse = (text, reviver) => parse(text, reviver ?? keep)
}

// The Link of a deprecated operation leads to #/books/getBook.
const placeOfOperation = (hash) => hash.replace(/^#\/([^/]+)\/([^/]+)$/, '#tag/$1/$2')

// Rows of the request editor have no label other than their text.
const rowName = (e) => {
  const cells = [...e.closest('tr').querySelectorAll('td')]
  return cells.map((cell) => (cell.querySelector('.cm-placeholder') ? '' : cell.innerText.trim())).find(Boolean) || 'a new row'
}
const editorName = (e) => {
  if (e.closest('.body-raw')) return 'Response body'
  if (!e.closest('td')) return 'Request body'
  return e === e.closest('tr').querySelector('.cm-content') ? 'Name' : `Value of ${rowName(e)}`
}

// Attributes that screen readers need and Scalar does not set. Each row has a
// selector and the attributes of its elements; null removes one.
const mends = [
  ['button[aria-selected]:not([role=tab])', (e) => ({ 'aria-current': e.getAttribute('aria-selected') === 'true' ? 'location' : null, 'aria-selected': null })],
  ['button[role=none]', () => ({ role: null })],
  ['button.group\\/copy-button', () => ({ 'aria-label': 'Copy' })],
  ['.cm-content[role=textbox]', (e) => ({ 'aria-label': editorName(e) })],
  ['tr input[type=checkbox]', (e) => ({ 'aria-label': `Send ${rowName(e)}` })],
  ['.cm-scroller', () => ({ tabindex: '0' })],
  ['[aria-controls]', (e) => (document.getElementById(e.getAttribute('aria-controls')) ? {} : { 'aria-controls': null })],
]

const mend = () => {
  for (const [selector, attributes] of mends) {
    for (const element of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes(element))) {
        if (element.getAttribute(name) === value) continue // else the observer would never stop
        if (value === null) element.removeAttribute(name)
        else element.setAttribute(name, value)
      }
    }
  }
}

// On a narrow screen the response is below the whole request, out of view.
let shown = ''
const showResponse = () => {
  const summary = document.querySelector('.scalar-client .animate-response-children')
  if (summary && summary.innerText !== shown) summary.closest('section').scrollIntoView()
  shown = summary?.innerText
}

keepNumbersExact()
new MutationObserver(() => { mend(); showResponse() }).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: ['aria-selected', 'tabindex', 'role'] })
Scalar.createApiReference('#docs', {
  url: 'openapi.yaml',
  servers: servers(),
  redirect: placeOfOperation,
  generateOperationSlug: ({ operationId }) => operationId,
  persistAuth: false, // an API key is forgotten with the page
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  defaultOpenAllTags: true,
  hideModels: true, // each operation shows its own
  hideDarkModeToggle: true, // the page follows the system
  hideSearch: true,
  documentDownloadType: 'none',
  withDefaultFonts: false, // no requests to other servers
  telemetry: false,
  agent: { disabled: true },
  hideClientButton: true,
  hiddenClients: true, // only the samples of the document
  showDeveloperTools: 'never',
})
