"""Prints a name in Unicode and the errors that the generated client returns."""

import os

from pet_store_client import AuthenticatedClient
from pet_store_client.api.pets import create_pet, get_pet, list_pets
from pet_store_client.models import NewPet, PetStatus

url = "http://127.0.0.1:8080/v1"
client = AuthenticatedClient(base_url=url, token=os.environ["KEY"])
stranger = AuthenticatedClient(base_url=url, token="another")

created = create_pet.sync(client=client, body=NewPet("Zoë 🐕", -5, PetStatus.SOLD), idempotency_key="k1")
print(created.name, created.category_id, created.status)
for error in (
    create_pet.sync(client=client, body=NewPet("Max", 6), idempotency_key="k1"),
    list_pets.sync(client=client, limit=101),
    list_pets.sync(client=stranger),
    get_pet.sync(999, client=client),
):
    print(error.status, error.code)
