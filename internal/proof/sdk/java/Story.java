import com.example.petstore.ApiClient;
import com.example.petstore.ApiException;
import com.example.petstore.ApiResponse;
import com.example.petstore.Error;
import com.example.petstore.NewPet;
import com.example.petstore.Pet;
import com.example.petstore.PetStatus;
import com.example.petstore.PetsApi;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The story in Java: how a team uses the client that openapi-generator makes of
 * openapi.yaml, on java.net.http and Jackson. It takes the address and the API
 * key of a server without pets from BASE_URL and KEY.
 */
public class Story {
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final Pattern NEXT = Pattern.compile("<[^>]*[?&]after=(\\d+)[^>]*>; *rel=\"next\"");

  private final ApiClient client = new ApiClient();
  private final PetsApi pets;

  private Story(String baseUrl, String key) {
    client.updateBaseUri(baseUrl);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    pets = new PetsApi(client);
  }

  public static void main(String[] args) throws Exception {
    String baseUrl = System.getenv("BASE_URL");
    new Story(baseUrl, System.getenv("KEY")).tell(new Story(baseUrl, "not-a-key-of-this-server"));
  }

  @SuppressWarnings("deprecation") // getPet: the story shows what a deprecation looks like
  private void tell(Story other) throws Exception {
    // Add some pets. A categoryId may be any int64: it is a long.
    for (NewPet pet : List.of(
        new NewPet().name("Frank").categoryId(9007199254740993L).status(PetStatus.PENDING),
        new NewPet().name("Kitty").categoryId(2L), // available, where no status is given
        new NewPet().name("Rex").categoryId(3L).status(PetStatus.SOLD),
        new NewPet().name("Luna").categoryId(4L),
        new NewPet().name("Zoë 🐕").categoryId(-5L).status(PetStatus.SOLD))) {
      Pet made = pets.createPet(pet, UUID.randomUUID().toString(), null);
      out.printf("created %d %s, category %d, %s%n", made.getId(), made.getName(), made.getCategoryId(), made.getStatus());
    }

    // List all of them.
    all(2, null, pet -> out.printf("listed %d %s%n", pet.getId(), pet.getName()));
    all(1, PetStatus.SOLD, pet -> out.printf("sold: %d %s%n", pet.getId(), pet.getName()));

    // Get one. The operation is deprecated, and every response says until when.
    ApiResponse<Pet> response = pets.getPetWithHttpInfo(1L);
    Pet got = response.getData();
    String sunset = response.getHeaders().get("sunset").get(0);
    out.printf("got %d %s, category %d; this operation ends on %s%n", got.getId(), got.getName(), got.getCategoryId(), sunset);

    // A refusal is thrown as an exception that says why.
    refused(() -> all(101, null, pet -> {}));
    refused(() -> other.all(20, null, pet -> {}));
    refused(() -> pets.getPet(999L));

    // Send a request again whose response was lost: the same key, the same pet.
    String once = UUID.randomUUID().toString();
    NewPet max = new NewPet().name("Max").categoryId(6L);
    for (int i = 0; i < 2; i++) {
      Pet made = pets.createPet(max, once, null);
      out.printf("sent %s, it is %d%n", made.getName(), made.getId());
    }
    refused(() -> pets.createPet(max.categoryId(7L), once, null));
  }

  /** Hands over every pet, one page at a time, following the links. */
  private void all(int limit, PetStatus status, Consumer<Pet> each) throws ApiException {
    for (Long after = null; ; ) {
      ApiResponse<List<Pet>> page = pets.listPetsWithHttpInfo(limit, status, after, null);
      page.getData().forEach(each);
      Matcher next = NEXT.matcher(String.join(", ", page.getHeaders().getOrDefault("link", List.of())));
      if (!next.find()) {
        return;
      }
      after = Long.valueOf(next.group(1));
    }
  }

  private interface Request {
    void send() throws ApiException;
  }

  /** Tells why a request was refused. */
  private void refused(Request request) throws JsonProcessingException {
    try {
      request.send();
    } catch (ApiException e) {
      Error error = client.getObjectMapper().readValue(e.getResponseBody(), Error.class);
      out.printf("refused: %d %s: %s%n", error.getStatus(), error.getCode(), error.getMessage());
    }
  }
}
