// Shows the document with Scalar. docs.css fixes what it has no option for.
'use strict'

// Scalar then renders all operations at once, not when they are scrolled to: Tab reaches them.
delete window.IntersectionObserver

const place = document.querySelector('#docs').dataset
const here = new URL(place.base.replace(/^\//, '') || '.', location.href).href.replace(/\/$/, '')

// Requests go to the server that served the page or to its public address, not to
// the addresses in the document.
const show = (content) => Scalar.createApiReference('#docs', {
  content,
  servers: [{ url: place.public, description: 'The public address' }, { url: here, description: 'This server' }]
    .filter(({ url }, i) => i === 0 ? url : url !== place.public),
  redirect: (hash) => hash.replace(/^#\/([^/]+)\/([^/]+)$/, '#tag/$1/$2'), // of the Link of a deprecated operation
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
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
})

fetch('openapi.yaml').then((response) => response.text()).then(show)
