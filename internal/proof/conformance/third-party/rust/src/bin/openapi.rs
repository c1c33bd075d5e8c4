// Lists, creates and gets with the client that openapi-generator makes for Rust.
#![allow(deprecated)] // getPet is, and works until its sunset

use openapi::apis::{configuration::Configuration, pets_api};
use openapi::models::{NewPet, Pet};

fn show(verb: &str, pet: &Pet) {
    let status = pet.status.map(|s| s.to_string()).unwrap_or_default();
    println!("{verb} {} {} {status}", pet.id, pet.name);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Configuration::new();
    config.base_path = std::env::var("BASE_URL")?;
    config.bearer_access_token = Some(std::env::var("KEY")?);
    let created = pets_api::create_pet(&config, NewPet::new("Frank".into(), 1), None, None).await?;
    show("created", &created);
    for pet in pets_api::list_pets(&config, None, None, None, None).await? {
        show("listed", &pet);
    }
    show("got", &pets_api::get_pet(&config, created.id).await?);
    Ok(())
}
