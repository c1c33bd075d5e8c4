// Has Swagger UI show the document, and mends what would mislead the reader:
// each function says what.
'use strict'

const root = new URL('..', document.currentScript.src) // whatever host, port and path the reader came by
const place = document.querySelector('#docs')

// Swagger UI has a dark side, but does not ask what the reader prefers.
const dark = matchMedia('(prefers-color-scheme: dark)')
const followPreference = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followPreference)
followPreference()

// The document names the production and staging addresses. What is tried here
// goes to the server that the page is from.
const servers = () => {
  const here = new URL('v1', root).href
  const all = [{ url: here, description: 'this server' }]
  const publicAddress = place.dataset.public
  if (publicAddress && publicAddress !== here) all.push({ url: publicAddress, description: 'its public address' })
  return all
}

// An example becomes the value that is sent. The first list would begin after
// the 120th animal, and the second animal be refused for its Idempotency-Key:
// of what may be left out, the example is told, not filled in.
const withoutFilling = (document, parameter) => {
  if (parameter.required || parameter.example === undefined) return parameter
  const { example, ...rest } = parameter
  const name = parameter.schema.$ref?.split('/').pop()
  const schema = { ...(name ? document.components.schemas[name] : parameter.schema) }
  delete schema.example
  const told = schema.default === undefined ? `\n\nFor example \`${example}\`.` : ''
  return { ...rest, schema, description: (rest.description ?? '') + told }
}

const forTrying = (document) => {
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      operation.parameters = operation.parameters?.map((p) => withoutFilling(document, p))
    }
  }
  return { ...document, servers: servers() }
}

// Swagger UI shows an int64 above 2^53 as another one. Browsers that cannot
// read numbers whole get to see the bytes as they came.
const exactly = (text) => {
  if (!JSON.rawJSON) return text
  const keep = (_, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value)
  return JSON.stringify(JSON.parse(text, keep), null, 2)
}

const exactNumbers = (Original, { React, getComponent }) => (props) => {
  if (props.contentType !== 'application/json' || typeof props.content !== 'string') return React.createElement(Original, props)
  const code = { language: 'json', downloadable: true, fileName: 'answer.json', canCopy: true }
  return React.createElement('div', null,
    React.createElement('h5', null, 'Response body'),
    React.createElement(getComponent('HighlightCode', true), code, exactly(props.content)))
}

SwaggerUIBundle({
  domNode: place,
  url: new URL('openapi.yaml', root).href,
  plugins: [{
    statePlugins: { spec: { wrapActions: { updateJsonSpec: (update) => (document) => update(forTrying(document)) } } },
    wrapComponents: { responseBody: exactNumbers },
  }],
  deepLinking: true, // the Link of a deprecated operation leads to its place, as #/pets/getPet
  tryItOutEnabled: true,
  persistAuthorization: false, // an API key is forgotten with the page
  validatorUrl: null, // would be a request to another server
})
