#!/usr/bin/env bash
# Usage: .github/rename.sh MODULE PROGRAM NOUN PREFIX [PLURAL]
# Renames a fresh clone, such as: .github/rename.sh example.com/library shelfd book bsk
# MODULE is the Go module, PROGRAM the command, NOUN the resource, PREFIX the beginning of
# API keys. It first renames another clone, compiles it and tests its stores, which takes some
# minutes. If that fails, it changes nothing. Needs GNU sed.
set -Eeuo pipefail
export LC_ALL=C

# update.sh uses the first two functions, too.

# check MODULE PROGRAM NOUN PREFIX PLURAL fails unless the words have the right form, and prints why.
check() {
	local word
	[[ $1 =~ ^[a-z0-9.-]+(/[A-Za-z0-9._~-]+)*$ ]] || { echo "$1 is not a module path, such as example.com/library"; return 1; }
	for word in "${@:2}"; do
		[[ $word =~ ^[a-z][a-z0-9]*$ ]] || { echo "'$word' must consist of a-z and 0-9, and begin with a letter"; return 1; }
	done
}

# words MODULE PROGRAM NOUN PREFIX PLURAL replaces the words in all files below the current
# folder except vendor. Each word becomes a number first, because a new word may contain an old one.
words() {
	local to='' from='' n=0 old new article=''
	while read -r old new; do
		to+="s#$old#\x01$((++n))\x02#g;" from+="s#\x01$n\x02#$new#g;"
	done <<-END
		example.com/petstore $1
		petstore $2
		Petstore ${2^}
		PETSTORE ${2^^}
		psk $4
		pets $5
		Pets ${5^}
		PETS ${5^^}
		pet $3
		Pet ${3^}
		PET ${3^^}
	END
	if [[ $3 =~ ^([aeio]|u[^nst]|un[^i]|hour|hono|heir) && ! $3 =~ ^(eu|one) ]]; then
		article='s,\b([Aa])(\s+((//|#|--)\s+)?[`"*]*\x01([6-9]|1.)\x02),\1n\2,g;'
	fi
	replace=$to$article$from
	grep -rlIiE 'pet|psk' --exclude-dir=.git --exclude-dir=vendor --exclude='*LICENSE*' --exclude='*-lock.json' --exclude='*.sum' \
		--exclude=rename.sh --exclude=update.sh . | xargs -r sed --sandbox -i -zE "$replace"
	find . -name vendor -prune -o -name '*.go' -exec gofmt -w {} +
}
[ "$0" = "${BASH_SOURCE[0]}" ] || return 0

[ $# = 4 ] || [ $# = 5 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
refuse() { echo "rename.sh: $*. Nothing was changed." >&2; exit 1; }
module=$1 program=$2 noun=$3 prefix=$4
case $noun in
*[sxz] | *[cs]h) plural=${5-${noun}es} ;;
*[!aeiou]y) plural=${5-${noun%y}ies} ;;
*) plural=${5-${noun}s} ;;
esac
cd "$(dirname "$0")/.."
[ -z "$(git rev-parse --show-prefix)" ] ||
	refuse 'this folder is part of a larger repository, where update.sh could not merge: use a clone of its own'
[ ! -e .github/upstream ] || refuse 'this clone has been renamed before, as .github/upstream says'
[ -z "$(git status --porcelain)" ] || refuse 'commit or undo your changes first'
problem=$(check "$module" "$program" "$noun" "$prefix" "$plural") || refuse "$problem"
[ "$noun" != "$plural" ] || refuse "the plural must differ from $noun: give another one as the last argument"
for word in "$noun" "$plural"; do
	gofmt -e <<<"package p; var $word int" >/dev/null 2>&1 || refuse "$word is a keyword of Go"
	! go doc "builtin.$word" >/dev/null 2>&1 || refuse "$word is predeclared in Go"
	[ ! -e "internal/$word" ] || refuse "$word is the name of a package, internal/$word"
done

case $program in user | order | group | table | column | check | grant | window | offset | limit | union)
	refuse "$program is a word of SQL, and the schema in PostgreSQL has the name of the program" ;;
esac

echo "rename.sh: renames, compiles and tests a clone in another folder first. This takes some minutes." >&2
tmp=$(mktemp -d)
exec 3>&2 >"$tmp/log" 2>&1
trap 'rm -rf "$tmp"' EXIT # the log is shown only after a failure
trap '{ tail -n 5 "$tmp/log"; refuse "With $noun and $plural, the code fails as above"; } >&3 2>&3' ERR
git clone -q . "$tmp/clone"
clone=$PWD
cd "$tmp/clone"

# Removes what only this service has: the specification it was given, and the tests of these commands.
git rm -rq internal/proof/copy internal/proof/contract/specification*
sed -i '/specification.yaml/d; /^copy:/,/^$/d; s/ sdk copy / sdk /' Makefile .github/workflows/check.yml
sed -i '/^\/\/ TestEngines/,/^}/d' internal/arch_test.go
sed -i '/^## Make it yours/,/^## /{/^## [^M]/!d}' .github/COPY.md
sed -i '/(`copy`)/d' .github/CONTRIBUTING.md

words "$module" "$program" "$noun" "$prefix" "$plural"
git ls-files '*pet*' ':!vendor' | while read -r old; do
	new=$(sed -E "$replace" <<<"$old")
	[ ! -e "$new" ] || { echo "$new exists already"; exit 1; }
	mkdir -p "$(dirname "$new")"
	git mv "$old" "$new"
done
echo "$(git rev-parse HEAD) $module $program $noun $prefix $plural" >.github/upstream
make --no-print-directory generate
go mod tidy
go vet -tags "$(sed -n 's/^ALL_TAGS := //p' Makefile)" ./...
go test ./internal/store/...
git add -A
git diff-index --cached -p --binary --full-index HEAD | git -C "$clone" apply --whitespace=nowarn --index
# Tags of the original are no versions of this service.
git -C "$clone" tag | xargs -r git -C "$clone" tag -d
echo 'The files are renamed, and the tags of the original removed. Commit the result, and go on with
"First steps of a copy" in .github/COPY.md.' >&3
