// What a team does with openapi-fetch and the types that openapi-typescript
// generates from the served document. BASE_URL and KEY name an empty server.
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type NewPet = components["schemas"]["NewPet"];

const { BASE_URL: baseUrl, KEY: key } = process.env;
if (!baseUrl || !key) throw new Error("set BASE_URL and KEY");
const connect = (key: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const client = connect(key);

// Repeating a request with the same key adds only one pet.
async function create(pet: NewPet, once: string) {
  const { data, error } = await client.POST("/pets", { params: { header: { "Idempotency-Key": once } }, body: pet });
  console.log(error ? `refused: ${error.status} ${error.code}` : `created ${data.id} ${data.name} ${data.status}`);
}

await create({ name: "Frank", categoryId: 1 }, randomUUID());
await create({ name: "Zoë 🐕", categoryId: -5, status: "sold" }, randomUUID());
const once = randomUUID();
await create({ name: "Max", categoryId: 6 }, once);
await create({ name: "Max", categoryId: 6 }, once);
await create({ name: "Max", categoryId: 7 }, once);

// Follow the links to the next page.
for (let after = 0, more = true; more; ) {
  const { data, error, response } = await client.GET("/pets", { params: { query: { limit: 2, after } } });
  if (error) throw new Error(error.message);
  for (const pet of data) {
    console.log(`listed ${pet.id} ${pet.name}`);
    after = pet.id;
  }
  more = response.headers.get("Link")?.includes('rel="next"') ?? false;
}

const got = await client.GET("/pets/{petId}", { params: { path: { petId: 1 } } });
console.log(`got ${got.data?.name} until ${got.response.headers.get("Sunset")}`);
for (const { error } of [
  await client.GET("/pets", { params: { query: { limit: 101 } } }),
  await connect("not-a-key-of-the-server").GET("/pets"),
  await client.GET("/pets/{petId}", { params: { path: { petId: 999 } } }),
]) {
  console.log(`refused: ${error?.status} ${error?.code}`);
}
