# Checks the files of deploy/ with the program for each kind. TestFiles runs it with bash -e in
# the top folder; $1 is an empty folder.
promtool test rules deploy/*/alerts_test.yml

cp deploy/systemd/petstore* "$1"
sed -i "s|/usr/bin/petstore |$PWD/.bin/petstore |" "$1"/petstore*
SYSTEMD_UNIT_PATH=$1: systemd-analyze verify --recursive-errors=no "$1"/petstore*.{service,socket,timer}
systemd-analyze security --offline=true --threshold=19 "$1/petstore.service" "$1/petstore-backup.service"

make release-check

git ls-files 'deploy/*kustomization.yaml' | while read -r file; do
	go run sigs.k8s.io/kustomize/kustomize/v5@v5.8.2 build -o "$1/all.yaml" "$(dirname "$file")"
	go run sigs.k8s.io/kubectl-validate@v0.0.4 "$1/all.yaml"
done
