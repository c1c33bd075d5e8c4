# listPets
curl -H "Authorization: Bearer $KEY" \
  'http://127.0.0.1:8080/v1/pets?status=available'

# createPet
curl -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' \
  -d '{"name": "Frank", "categoryId": 1}' \
  http://127.0.0.1:8080/v1/pets

# getPet
curl -H "Authorization: Bearer $KEY" \
  http://127.0.0.1:8080/v1/pets/1
