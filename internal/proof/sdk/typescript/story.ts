// The story in TypeScript: how a team uses openapi-fetch with the types that
// openapi-typescript makes of openapi.yaml. It takes the address and the API
// key of a server without pets from BASE_URL and KEY.
import { randomUUID } from "node:crypto";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type NewPet = components["schemas"]["NewPet"];
type Pet = components["schemas"]["Pet"];
type PetStatus = components["schemas"]["PetStatus"];
type Refusal = components["schemas"]["Error"];

const { BASE_URL: baseUrl, KEY: key } = process.env;
if (!baseUrl || !key) throw new Error("set BASE_URL and KEY");

const connect = (key: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const client = connect(key);

// A refusal is thrown as an error that says why.
class Refused extends Error {
  constructor(readonly response: Refusal) {
    super(`${response.status} ${response.code}: ${response.message}`);
  }
}

// refused tells why a request was refused.
async function refused(request: Promise<unknown>) {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.log(`refused: ${error.message}`);
  }
}

// create adds a pet. It may be called again with the same key: that makes one.
async function create(pet: NewPet, once: string, write: (pet: NewPet) => string = JSON.stringify): Promise<Pet> {
  const { data, error } = await client.POST("/pets", {
    params: { header: { "Idempotency-Key": once } },
    body: pet,
    bodySerializer: write,
  });
  if (error) throw new Refused(error);
  return data;
}

// all returns every pet, one page at a time, following the links.
async function* all(client: Client<paths>, query: { limit?: number; status?: PetStatus; after?: number }): AsyncGenerator<Pet> {
  for (;;) {
    const { data, error, response } = await client.GET("/pets", { params: { query } });
    if (error) throw new Refused(error);
    yield* data;
    const next = /<[^>]*[?&]after=(\d+)[^>]*>; *rel="next"/.exec(response.headers.get("Link") ?? "");
    if (!next) return;
    query = { ...query, after: Number(next[1]) };
  }
}

// Add some pets. A categoryId may be any int64, but JavaScript's numbers are
// exact only below 2^53: that of Frank is sent as text, and read back rounded.
const exact = '{"name":"Frank","categoryId":9007199254740993,"status":"pending"}';
const frank = await create(JSON.parse(exact), randomUUID(), () => exact);
console.log(`created ${frank.id} ${frank.name}, category ${frank.categoryId}, ${frank.status}`);
if (Number.isSafeInteger(frank.categoryId)) throw new Error("a rounded number must be told from an exact one");
const more: NewPet[] = [
  { name: "Kitty", categoryId: 2 }, // available, where no status is given
  { name: "Rex", categoryId: 3, status: "sold" },
  { name: "Luna", categoryId: 4 },
  { name: "Zoë 🐕", categoryId: -5, status: "sold" },
];
for (const pet of more) {
  const made = await create(pet, randomUUID());
  console.log(`created ${made.id} ${made.name}, category ${made.categoryId}, ${made.status}`);
}

// List all of them.
for await (const pet of all(client, { limit: 2 })) console.log(`listed ${pet.id} ${pet.name}`);
for await (const pet of all(client, { limit: 1, status: "sold" })) console.log(`sold: ${pet.id} ${pet.name}`);

// Get one, as text: so a categoryId beyond 2^53 is read exactly. The operation
// is deprecated, and every response says until when.
const { data: text, error, response } = await client.GET("/pets/{petId}", { params: { path: { petId: 1 } }, parseAs: "text" });
if (error) throw new Refused(error);
const categoryId = BigInt(/"categoryId":(-?\d+)/.exec(text)![1]!);
const pet: Pet = JSON.parse(text);
console.log(`got ${pet.id} ${pet.name}, category ${categoryId}; this operation ends on ${response.headers.get("Sunset")}`);

// Refusals.
async function get(petId: number): Promise<Pet> {
  const { data, error } = await client.GET("/pets/{petId}", { params: { path: { petId } } });
  if (error) throw new Refused(error);
  return data;
}
await refused(all(client, { limit: 101 }).next());
await refused(all(connect("not-a-key-of-this-server"), {}).next());
await refused(get(999));

// Send a request again whose response was lost: the same key, the same pet.
const once = randomUUID();
for (let i = 0; i < 2; i++) {
  const made = await create({ name: "Max", categoryId: 6 }, once);
  console.log(`sent ${made.name}, it is ${made.id}`);
}
await refused(create({ name: "Max", categoryId: 7 }, once));
