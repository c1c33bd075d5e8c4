"""What a team does with the client that openapi-python-client generates from
the served document. BASE_URL and KEY name an empty server."""

import os
from uuid import uuid4

from pet_store_client import AuthenticatedClient
from pet_store_client.api.pets import create_pet, get_pet, list_pets
from pet_store_client.models import Error, NewPet, PetStatus

base_url = os.environ["BASE_URL"]
client = AuthenticatedClient(base_url=base_url, token=os.environ["KEY"])


def create(pet: NewPet, once: str) -> None:
    """Add a pet. Repeating a request with the same key adds only one."""
    made = create_pet.sync(client=client, body=pet, idempotency_key=once)
    if isinstance(made, Error):
        print(f"refused: {made.status} {made.code}")
    else:
        print(f"created {made.id} {made.name} {made.status}")


create(NewPet("Frank", 1), str(uuid4()))
create(NewPet("Zoë 🐕", -5, PetStatus.SOLD), str(uuid4()))
once = str(uuid4())
create(NewPet("Max", 6), once)
create(NewPet("Max", 6), once)
create(NewPet("Max", 7), once)

# Follow the links to the next page.
after, more = 0, True
while more:
    response = list_pets.sync_detailed(client=client, limit=2, after=after)
    for pet in response.parsed:
        print(f"listed {pet.id} {pet.name}")
        after = pet.id
    more = 'rel="next"' in response.headers.get("Link", "")

got = get_pet.sync_detailed(1, client=client)
print(f"got {got.parsed.name} until {got.headers['Sunset']}")
stranger = AuthenticatedClient(base_url=base_url, token="not-a-key-of-the-server")
for error in (
    list_pets.sync(client=client, limit=101),
    list_pets.sync(client=stranger),
    get_pet.sync(999, client=client),
):
    print(f"refused: {error.status} {error.code}")
