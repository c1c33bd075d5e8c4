// Has Dredd ask for each documented response. Dredd sends the examples, which
// bring the successes; here is what brings the others.
const hooks = require('hooks')

const { BASE_URL, KEY } = process.env
const frank = { name: 'Frank', categoryId: 1 }
const add = (headers) => fetch(`${BASE_URL}/pets`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(frank),
})

// Two animals: page one of one has the Link that Dredd expects, as it expects
// every documented header. The second has a key that another animal is refused.
hooks.beforeAll((transactions, done) => {
  add({}).then(() => add({ 'Idempotency-Key': 'frank' })).then(() => done())
})

// The service does none of these on demand; the conversations of the program's
// tests bring each, and hold it against the document.
const notOnDemand = ['403', '429', '500', '503']

const provoke = {
  'GET /pets 200': (t) => { t.fullPath = t.fullPath.replace(/\?.*/, '?limit=1') },
  'GET /pets 400': (t) => { t.fullPath = t.fullPath.replace(/\?.*/, '?limit=0') },
  'POST /pets 400': (t) => { t.request.body = '{}' },
  'POST /pets 413': (t) => { t.request.body = JSON.stringify({ ...frank, name: 'x'.repeat(65536) }) },
  'POST /pets 415': (t) => {
    t.request.headers['Content-Type'] = 'text/plain'
    delete t.expected.headers['Accept-Encoding'] // of the other 415: for a body that is compressed
    delete t.expected.headers.Accept // Dredd compares its value, and expects an empty one
  },
  'POST /pets 422': (t) => {
    t.request.headers['Idempotency-Key'] = 'frank'
    t.request.body = JSON.stringify({ ...frank, name: 'Kitty' })
  },
  'GET /pets/{petId} 400': (t) => { t.fullPath = t.fullPath.replace(/\d+$/, 'one') },
  'GET /pets/{petId} 404': (t) => { t.fullPath = t.fullPath.replace(/\d+$/, '999') },
}

hooks.beforeEach((t, done) => {
  const status = t.expected.statusCode
  const at = `${t.request.method} ${t.origin.resourceName} ${status}`
  t.request.headers.Authorization = `Bearer ${status === '401' ? 'another' : KEY}`
  delete t.request.headers['Idempotency-Key'] // optional; without an example Dredd sends it empty
  // Dredd expects Preference-Applied of each success: only a request with a preference gets it.
  if (status.startsWith('2')) t.request.headers.Prefer = 'handling=strict'
  else delete t.request.headers.Prefer
  if (provoke[at]) provoke[at](t)
  t.skip = notOnDemand.includes(status)
  done()
})
