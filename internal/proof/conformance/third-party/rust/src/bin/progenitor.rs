// Lists, creates and gets with the client that progenitor makes.
#![allow(deprecated)] // getPet is, and works until its sunset

use petstore::types::{NewPet, Pet};
use reqwest::header::{HeaderMap, AUTHORIZATION};

fn show(verb: &str, pet: &Pet) {
    let status = pet.status.map(|s| s.to_string()).unwrap_or_default();
    println!("{verb} {} {} {status}", pet.id, pet.name);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, format!("Bearer {}", std::env::var("KEY")?).parse()?);
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    let pets = petstore::Client::new_with_client(&std::env::var("BASE_URL")?, http);
    let frank = NewPet { name: "Frank".parse()?, category_id: 1, status: None };
    let created = pets.create_pet(None, None, &frank).await?;
    show("created", &created);
    for pet in pets.list_pets(None, None, None, None).await?.iter() {
        show("listed", pet);
    }
    let id = created.id.get() as i64;
    show("got", pets.get_pet(id).await?.as_ref());
    Ok(())
}
