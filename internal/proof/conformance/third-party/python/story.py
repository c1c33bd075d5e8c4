"""Lists, creates and gets with the client that openapi-generator makes for Python."""

import os

from openapi_client import ApiClient, Configuration, NewPet, PetsApi


def show(verb, pet):
    print(verb, pet.id, pet.name, pet.status.value)


with ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["KEY"])) as client:
    pets = PetsApi(client)
    created = pets.create_pet(NewPet(name="Frank", categoryId=1))
    show("created", created)
    for pet in pets.list_pets():
        show("listed", pet)
    show("got", pets.get_pet(created.id))
