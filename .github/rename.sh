#!/usr/bin/env bash
# Usage: .github/rename.sh MODULE PROGRAM NOUN PREFIX
# Renames a fresh clone, such as: .github/rename.sh example.com/library shelfd book bsk
# MODULE is the Go module, PROGRAM the command, NOUN the resource, whose plural ends in
# -s, and PREFIX the beginning of API keys. Needs GNU sed.
set -euo pipefail
[ $# = 4 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
module=$1 program=$2 noun=$3 prefix=$4
cd "$(git rev-parse --show-toplevel)"
git diff --quiet HEAD || { echo 'commit or undo your changes first' >&2; exit 1; }

# What is true of this service only: the document that it was given, and these commands.
git rm -rq .github/rename.sh internal/proof/copy internal/proof/contract/specification*
sed -i '/specification.yaml/d; /^copy:/,/^$/d; s/ sdk copy / sdk /' Makefile .github/workflows/check.yml
sed -i '/^\/\/ TestEngines/,/^}/d' internal/arch_test.go
sed -i '/^## Make it yours/,/^## Run and debug/{/^## Run and debug/!d}' .github/CONTRIBUTING.md

text=$(git ls-files ':!*.gz' ':!*LICENSE*' ':!*-lock.json' ':!*.sum')
sed -i "s#example.com/petstore#$module#g; s/psk/$prefix/g" $text
sed -i "s/petstore/$program/g; s/Petstore/${program^}/g; s/PETSTORE/${program^^}/g" $text
sed -i "s/pet/$noun/g; s/Pet/${noun^}/g; s/PET/${noun^^}/g" $text
git ls-files '*pet*' | while read -r old; do
	new=$(echo "$old" | sed "s/petstore/$program/g; s/pet/$noun/g")
	mkdir -p "$(dirname "$new")"
	git mv "$old" "$new"
done
make --no-print-directory generate
gofmt -w .
go mod tidy
git add -A
