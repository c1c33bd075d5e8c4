# Runs commands as root on a store in a folder of another user, who has put links to
# root's files into it. TestLeaveRoot runs it with bash -e -x in the top folder of the
# repository. $1 is an empty folder.
dir=${1:?an empty folder} petstore=$PWD/.bin/petstore
chmod 755 "$dir" "$dir/.." # for others to reach it
secret=$dir/secret absent=$dir/absent
echo "root's" >"$secret"
untouched() {
	[ "$(cat "$secret")" = "root's" ] && [ "$(stat -c %U "$secret")" = root ] && [ ! -e "$absent" ]
}
room() { # OWNER makes a folder with a store and a backup, and goes there
	cd "$(mktemp -d "$dir/XXXXXX")"
	chmod 755 . && chown "$1" .
	"$petstore" keys create first --store sqlite:petstore.db
	"$petstore" backup --store sqlite:petstore.db backup.db
}

store='--store sqlite:petstore.db'
for link in petstore.db{,-lock,-wal,-shm,-journal,-x} backup.db out.db; do
	for command in "keys create x $store" "keys list $store" "keys revoke first $store" "migrate $store" "verify $store" \
		"backup --force out.db $store" "restore --force backup.db $store" 'copy --from sqlite:backup.db --to sqlite:out.db'; do
		for target in "$secret" "$absent"; do
			room nobody
			ln -sf "$target" $link
			"$petstore" $command || true
			untouched
		done
	done
done

# Links of nobody lead to root's folder, and links of root to nobody's.
room nobody; theirs=$PWD
room root; mine=$PWD
[ "$(stat -c %U "$theirs"/{petstore.db,petstore.db-lock,backup.db} | sort -u)" = nobody ]
install -d "$theirs/below" # root's folder in nobody's
ln -s "$mine/petstore.db" "$theirs/link.db"
ln -s "../$(basename "$mine")" "$theirs/to-mine"
ln -s "$theirs" folder
ln -s "$theirs/to-mine" back
ln -s "$mine/petstore.db" direct.db
create() { "$petstore" keys create x --store "sqlite:$1" 2>&1; }
nobody='belongs to the user nobody'
for file in "$theirs/link.db" "$theirs/below/new.db" back/petstore.db; do
	if said=$(create "$file"); then exit 1; fi
	[[ $said = *"$nobody, as whom this runs"* ]]
done
said=$(create folder/petstore.db)
[[ $said = *"$nobody, as whom this runs"* ]]
said=$(create direct.db)
[[ $said != *"$nobody"* ]]
if said=$("$petstore" serve --store "sqlite:$theirs/petstore.db" --addr 127.0.0.1:0 2>&1); then exit 1; fi
[[ $said = *"$nobody: run the server as that user"* ]]
untouched
