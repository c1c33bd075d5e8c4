# Renames the clone in the current folder with the command of COPY.md, in spite of a user's own settings,
# and updates its engines. The test runs it with -ex.
tmp=$(mktemp -d)
trap 'rm -rf $tmp' EXIT
rename=$(grep '^\.github/rename\.sh ' .github/COPY.md)
vet() { go vet -tags "$(sed -n 's/^ALL_TAGS := //p' Makefile)" ./...; }

# In a folder of a larger repository, make drift works, and rename.sh says why not.
git archive --prefix=larger/petstore/ HEAD | tar -xC $tmp
git init -q $tmp/larger
(cd $tmp/larger/petstore && make drift && $rename 2>&1 | grep 'a larger repository')

# The rename leaves vendored files as they are, removes tags, and obeys no settings of git.
mkdir -p vendor/pets
echo 'package  pets' >vendor/pets/pets.go
git add -f vendor
git commit -qm vendor
git tag v1.4.0
export GOFLAGS=-mod=mod GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=diff.noprefix GIT_CONFIG_VALUE_0=true
export GIT_CONFIG_KEY_1=color.ui GIT_CONFIG_VALUE_1=always GIT_CONFIG_KEY_2=diff.external GIT_CONFIG_VALUE_2=false
$rename
unset GIT_CONFIG_COUNT
grep 'package  pets' vendor/pets/pets.go
[ -z "$(git tag)" ]
{ git ls-files ':!vendor'; git grep --cached -I '' ':!vendor' ':!*LICENSE*' ':!*-lock.json' ':!*.sum' \
	':!.github/rename.sh' ':!.github/update.sh'; } | grep -iE 'p[e]t|p[s]k' && exit 1
go mod tidy
vet
go test ./...
make --dry-run help check-all package >/dev/null
make drift
git commit -qm renamed

# The examples of the pages work here, too.
for chapter in visits tags tokens; do
	bash -x .github/guide.sh $chapter
	vet
	git reset -q --hard
	git clean -qfd
done

# An update after changes of an engine here and there, without an engine that was removed.
sed -i '1i // Ours.' internal/fault/fault.go
git rm -rq internal/db/postgres
git commit -qam ours
up=$tmp/up
git clone -q --no-hardlinks -c user.name=up -c user.email=up . $up
cd $up
git checkout -q HEAD~2
echo '// Fixed.' | tee -a internal/fault/fault.go >>internal/db/postgres/retry.go
printf 'package edge\n\nimport _ "%s/internal/fault"\n' $(go list -m) >internal/edge/new.go
git rm -q internal/keys/keys_test.go
sed -i '/^### Engines/a - fault is fixed.' .github/CHANGELOG.md
sed -i 's/^go 1.*/go 1.99.0/' go.mod
git add -A
git commit -qm fixed
cd -
(tar() { false; }; export -f tar; .github/update.sh $up) && exit 1
[ -z "$(git status --porcelain)" ]
.github/update.sh $up >out
grep 'fault is fixed' out
grep 'go get go@1.99.0 && go mod tidy' out
grep '// Ours' internal/fault/fault.go
grep '// Fixed' internal/fault/fault.go
go vet ./internal/edge
[ ! -e internal/db/postgres ] && [ ! -e internal/keys/keys_test.go ]
git commit -qm updated
.github/update.sh $up | grep 'nothing new'

# A conflict, and how to give up.
sed -i '1i // Theirs.' $up/internal/fault/fault.go
git -C $up commit -qam theirs
.github/update.sh $up >out && exit 1
grep '^<<<<<<<' internal/fault/fault.go
eval "$(sed -n 's/.*To give up: //p' out)"
[ -z "$(git status --porcelain -uno)" ]

# Refused: another copy, an unrelated repository, and words that are commands.
.github/update.sh . 2>&1 | grep 'has been renamed, too'
git init -q $tmp/other
git -C $tmp/other -c user.name=other -c user.email=other commit -q --allow-empty -m other
.github/update.sh $tmp/other 2>&1 | grep 'does not have the commit'
sed -i 's/ book / book#;1eid>pwn# /' .github/upstream
git commit -qam evil
.github/update.sh $up 2>&1 | grep 'must consist of a-z'
[ ! -e pwn ]
