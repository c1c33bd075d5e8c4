// Lists, creates and gets with the client that openapi-generator makes for Kotlin.
import org.openapitools.client.apis.PetsApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.models.NewPet
import org.openapitools.client.models.Pet

fun show(verb: String, pet: Pet) = println("$verb ${pet.id} ${pet.name} ${pet.status?.value}")

fun main() {
    ApiClient.accessToken = System.getenv("KEY")
    val pets = PetsApi(System.getenv("BASE_URL"))
    val created = pets.createPet(NewPet(name = "Frank", categoryId = 1))
    show("created", created)
    pets.listPets().forEach { show("listed", it) }
    show("got", pets.getPet(created.id))
}
