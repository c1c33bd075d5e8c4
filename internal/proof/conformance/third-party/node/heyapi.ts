// Lists, creates and gets with the client that hey-api makes.
import { client } from "./heyapi/client.gen";
import { createPet, getPet, listPets } from "./heyapi/sdk.gen";
import type { Pet } from "./heyapi/types.gen";

const show = (verb: string, pet: Pet) => console.log(verb, pet.id, pet.name, pet.status);

async function story() {
  client.setConfig({ baseUrl: process.env.BASE_URL as `${string}/v1`, auth: () => process.env.KEY });
  const created = (await createPet({ body: { name: "Frank", categoryId: 1 }, throwOnError: true })).data;
  show("created", created);
  for (const pet of (await listPets({ throwOnError: true })).data) show("listed", pet);
  show("got", (await getPet({ path: { petId: created.id }, throwOnError: true })).data);
}

void story();
