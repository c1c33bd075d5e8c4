"""The story in Python: how a team uses the client that openapi-python-client
makes of openapi.yaml. It takes the address and the API key of a server without
pets from BASE_URL and KEY."""

import os
import re
from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import uuid4

from pet_store_client import AuthenticatedClient
from pet_store_client.api.pets import create_pet, get_pet, list_pets
from pet_store_client.models import Error, NewPet, Pet, PetStatus
from pet_store_client.types import UNSET, Response, Unset

T = TypeVar("T")


class Refused(Exception):
    """A response that is not the success its request wanted."""

    def __init__(self, error: Error) -> None:
        super().__init__(f"{error.status} {error.code}: {error.message}")
        self.error = error


def check(response: Response[Error | T]) -> T:
    """Return what a successful response holds, and raise Refused for another."""
    if isinstance(response.parsed, Error):
        raise Refused(response.parsed)
    if response.parsed is None:
        raise RuntimeError(f"got {response.status_code}, want a response of the pet store")
    return response.parsed


def create(client: AuthenticatedClient, pet: NewPet, once: str) -> Pet:
    """Add a pet. It may be called again with the same key: that makes one."""
    return check(create_pet.sync_detailed(client=client, body=pet, idempotency_key=once))


def all_pets(client: AuthenticatedClient, limit: int = 100, status: PetStatus | Unset = UNSET) -> Iterator[Pet]:
    """Yield every pet, one page at a time, following the links."""
    after: int | Unset = UNSET
    while True:
        response = list_pets.sync_detailed(client=client, limit=limit, status=status, after=after)
        yield from check(response)
        link = re.search(r'<[^>]*[?&]after=(\d+)[^>]*>; *rel="next"', response.headers.get("Link", ""))
        if link is None:
            return
        after = int(link[1])


def main() -> None:
    base_url = os.environ["BASE_URL"]
    client = AuthenticatedClient(base_url=base_url, token=os.environ["KEY"])

    # Add some pets. A categoryId may be any int64: Python's integers are exact.
    for pet in [
        NewPet("Frank", 9007199254740993, PetStatus.PENDING),
        NewPet("Kitty", 2),  # available, where no status is given
        NewPet("Rex", 3, PetStatus.SOLD),
        NewPet("Luna", 4),
        NewPet("Zoë 🐕", -5, PetStatus.SOLD),
    ]:
        made = create(client, pet, str(uuid4()))
        print(f"created {made.id} {made.name}, category {made.category_id}, {made.status}")

    # List all of them.
    for listed in all_pets(client, limit=2):
        print(f"listed {listed.id} {listed.name}")
    for listed in all_pets(client, limit=1, status=PetStatus.SOLD):
        print(f"sold: {listed.id} {listed.name}")

    # Get one. The operation is deprecated, and every response says until when.
    response = get_pet.sync_detailed(1, client=client)
    got = check(response)
    print(f"got {got.id} {got.name}, category {got.category_id}; this operation ends on {response.headers['Sunset']}")

    # A refusal is raised as an exception that says why.
    other = AuthenticatedClient(base_url=base_url, token="not-a-key-of-this-server")
    refusals: list[Callable[[], Pet]] = [
        lambda: next(all_pets(client, limit=101)),
        lambda: next(all_pets(other)),
        lambda: check(get_pet.sync_detailed(999, client=client)),
    ]
    for request in refusals:
        try:
            request()
        except Refused as refused:
            print(f"refused: {refused}")

    # Send a request again whose response was lost: the same key, the same pet.
    once = str(uuid4())
    for _ in range(2):
        made = create(client, NewPet("Max", 6), once)
        print(f"sent {made.name}, it is {made.id}")
    try:
        create(client, NewPet("Max", 7), once)
    except Refused as refused:
        print(f"refused: {refused}")


if __name__ == "__main__":
    main()
