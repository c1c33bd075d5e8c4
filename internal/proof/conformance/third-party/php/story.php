<?php
// Lists, creates and gets with the client that openapi-generator makes for PHP.
// Its one argument is the folder of the client's classes.
require 'GuzzleHttp/autoload.php'; // Debian's, in its include path
spl_autoload_register(function (string $class) use ($argv): void {
    if (str_starts_with($class, 'OpenAPI\\Client\\')) {
        require $argv[1] . '/' . str_replace('\\', '/', substr($class, strlen('OpenAPI\\Client\\'))) . '.php';
    }
});

use OpenAPI\Client\Api\PetsApi;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\NewPet;
use OpenAPI\Client\Model\Pet;

$show = fn (string $verb, Pet $pet) => print("$verb {$pet->getId()} {$pet->getName()} {$pet->getStatus()}\n");
$config = (new Configuration())->setHost(getenv('BASE_URL'))->setAccessToken(getenv('KEY'));
$pets = new PetsApi(new GuzzleHttp\Client(), $config);
$created = $pets->createPet((new NewPet())->setName('Frank')->setCategoryId(1));
$show('created', $created);
foreach ($pets->listPets() as $pet) {
    $show('listed', $pet);
}
$show('got', $pets->getPet($created->getId()));
