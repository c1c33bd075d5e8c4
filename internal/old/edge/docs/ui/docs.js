// Has Scalar show the document, and mends what it leaves to wish for: each
// function says what.
'use strict'

const place = document.querySelector('#docs').dataset
const root = new URL(place.root || '.', location.href) // whatever host, port and path the reader came by
const here = new URL(place.base || '.', root).href.replace(/\/$/, '')

// The document names the production and staging addresses. What is tried here
// goes to the server that the page is from.
const servers = () => {
  const all = [{ url: here, description: 'This server' }]
  if (place.public && place.public !== here) all.push({ url: place.public, description: 'Its public address' })
  return all
}

// JSON.parse reads an int64 above 2^53 as another one, and Scalar shows what it
// reads. Browsers that can keep such a number as it was written do so.
const keepNumbersExact = () => {
  const { parse, rawJSON } = JSON
  if (!rawJSON) return
  const keep = (_, value, { source }) => (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? rawJSON(source) : value)
  JSON.parse = (text, reviver) => parse(text, reviver ?? keep)
}

// The Link of a deprecated operation leads to its place as #/books/getBook,
// whatever the page is made of.
const placeOfOperation = (hash) => hash.replace(/^#\/([^/]+)\/([^/]+)$/, '#tag/$1/$2')

// The editors and boxes of a request's window stand in rows of tables. Their
// first text is the name of what the row sends.
const rowName = (e) => {
  const cells = [...e.closest('tr').querySelectorAll('td')]
  return cells.map((cell) => (cell.querySelector('.cm-placeholder') ? '' : cell.innerText.trim())).find(Boolean) || 'a new row'
}
const editorName = (e) => {
  if (e.closest('.body-raw')) return 'Response body'
  if (!e.closest('td')) return 'Request body'
  return e === e.closest('tr').querySelector('.cm-content') ? 'Name' : `Value of ${rowName(e)}`
}

// What a screen reader needs and Scalar leaves out. Each row is a selector and
// the attributes its elements get; null takes one away.
const mends = [
  ['button[aria-selected]:not([role=tab])', (e) => ({ 'aria-current': e.getAttribute('aria-selected') === 'true' ? 'location' : null, 'aria-selected': null })],
  ['button[role=search], button[role=none]', () => ({ role: null })],
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
        if (element.getAttribute(name) === value) continue // else the page would never come to rest
        if (value === null) element.removeAttribute(name)
        else element.setAttribute(name, value)
      }
    }
  }
}

// The search shows descriptions as they were written, in Markdown.
const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/`|\*\*|^#+ /gm, '')
const mendSearch = () => {
  for (const result of document.querySelectorAll('[role=option][id^=search-result-]')) {
    const texts = document.createTreeWalker(result, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { data } = texts.currentNode
      if (plain(data) !== data) texts.currentNode.data = plain(data)
    }
  }
}

// On a narrow screen the response comes below the whole request, out of view.
let shownResponse = ''
const followResponse = () => {
  const figures = document.querySelector('.scalar-client .request-response-header .animate-response-children')
  const response = figures?.innerText.trim() ?? ''
  if (response === shownResponse) return
  shownResponse = response
  const section = figures?.closest('section')
  if (response && section.getBoundingClientRect().top > innerHeight / 2) section.scrollIntoView({ block: 'start' })
}

const mendAll = () => [mend, mendSearch, followResponse].forEach((f) => f())

const show = async () => {
  const text = await (await fetch(place.document)).text()
  keepNumbersExact()
  new MutationObserver(mendAll).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: ['aria-selected', 'tabindex', 'role'] })
  Scalar.createApiReference('#docs', {
    content: place.server.startsWith('http') ? text.replaceAll(place.server, here) : text, // in commands to copy
    servers: servers(),
    redirect: placeOfOperation,
    generateOperationSlug: ({ operationId }) => operationId,
    persistAuth: false, // an API key is forgotten with the page
    orderSchemaPropertiesBy: 'preserve',
    orderRequiredPropertiesFirst: false,
    defaultOpenAllTags: true,
    hideModels: true, // each operation shows its own
    hideDarkModeToggle: true, // the page follows the system
    documentDownloadType: 'none',
    withDefaultFonts: false, // no requests to others
    telemetry: false,
    agent: { disabled: true },
    hideClientButton: true,
    hiddenClients: true, // only the samples of the document, which are tested
    showDeveloperTools: 'never',
  })
}

show()
