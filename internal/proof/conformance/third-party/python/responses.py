"""Has openapi-core judge live responses: openapi.yaml is its only argument.

Prints one line a response and fails at the first that openapi-core objects to.
"""

import os
import sys

import requests
import yaml
from openapi_core import OpenAPI
from openapi_core.contrib.requests import RequestsOpenAPIRequest, RequestsOpenAPIResponse

base, key = os.environ["BASE_URL"], os.environ["KEY"]
with open(sys.argv[1], encoding="utf-8") as file:
    document = yaml.safe_load(file)
# It takes only requests to the servers of the document, whose port is another.
document["servers"][0]["url"] = base
openapi = OpenAPI.from_dict(document)

frank = {"name": "Frank", "categoryId": 9007199254740993, "status": "sold"}
exchanges = [
    (201, "POST", "/pets", {"json": frank}),
    (201, "POST", "/pets", {"json": {"name": "名前 🐕", "categoryId": -5}}),
    (400, "POST", "/pets", {"json": {"name": "Frank"}}),
    (401, "POST", "/pets", {"json": frank, "headers": {"Authorization": "Bearer another"}}),
    (200, "GET", "/pets", {}),
    (200, "GET", "/pets", {"params": {"limit": 1, "status": "sold", "after": 0}}),
    (400, "GET", "/pets", {"params": {"limit": 101}}),
    (401, "GET", "/pets", {"headers": {"Authorization": "Bearer another"}}),
    (200, "GET", "/pets/1", {}),
    (400, "GET", "/pets/one", {}),
    (401, "GET", "/pets/1", {"headers": {"Authorization": "Bearer another"}}),
    (404, "GET", "/pets/999", {}),
]
with requests.Session() as session:
    for status, method, path, options in exchanges:
        headers = {"Authorization": f"Bearer {key}"} | options.pop("headers", {})
        request = session.prepare_request(requests.Request(method, base + path, headers=headers, **options))
        response = session.send(request, timeout=30)
        if response.status_code != status:
            sys.exit(f"{method} {path}: got {response.status_code} {response.text}, want {status}")
        if status != 400:  # whose request is not one of the document, as meant
            openapi.validate_request(RequestsOpenAPIRequest(request))
        asked = request.copy()
        if status == 400:  # it finds the operation by the address; a well-formed one will do
            asked.prepare_url(base + ("/pets/1" if path == "/pets/one" else path), {})
        openapi.validate_response(RequestsOpenAPIRequest(asked), RequestsOpenAPIResponse(response))
        print(method, path, status)
