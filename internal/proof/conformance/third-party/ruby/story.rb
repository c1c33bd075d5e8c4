# Lists, creates and gets with the client that openapi-generator makes for Ruby.
require 'uri'
require 'openapi_client'

base = URI(ENV.fetch('BASE_URL'))
OpenapiClient.configure do |config|
  config.scheme = base.scheme
  config.host = "#{base.host}:#{base.port}"
  config.base_path = base.path
  config.server_index = nil # not the document's first server, but the one above
  config.access_token = ENV.fetch('KEY')
end
show = ->(verb, pet) { puts "#{verb} #{pet.id} #{pet.name} #{pet.status}" }
pets = OpenapiClient::PetsApi.new
created = pets.create_pet(OpenapiClient::NewPet.new(name: 'Frank', category_id: 1))
show.call('created', created)
pets.list_pets.each { |pet| show.call('listed', pet) }
show.call('got', pets.get_pet(created.id))
