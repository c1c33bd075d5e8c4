// Lists, creates and gets with the client that openapi-generator makes for fetch.
import { Configuration, Pet, PetsApi } from "./typescript-fetch/index";

const show = (verb: string, pet: Pet) => console.log(verb, pet.id, pet.name, pet.status);

async function story() {
  const pets = new PetsApi(new Configuration({ basePath: process.env.BASE_URL, accessToken: process.env.KEY }));
  const created = await pets.createPet({ newPet: { name: "Frank", categoryId: 1 } });
  show("created", created);
  for (const pet of await pets.listPets()) show("listed", pet);
  show("got", await pets.getPet({ petId: created.id }));
}

void story();
