# Requests that deploy/proxy/nginx.conf answers itself. TestOwnErrors runs it with bash -e:
# $1 is the address for HTTPS, $2 that for HTTP, and $3 the log.
https=https://$1 http=http://$2 log=$3
dir=$(mktemp -d) && trap 'rm -r "$dir"' EXIT
long=$(head -c 20000 /dev/zero | tr '\0' x)
head -c 2000000 /dev/zero >"$dir/large"

# ask ARGS… sends a request with curl, over $version of HTTP.
ask() { curl -sik --max-time 20 "--http$version" "$@" >"$dir/answer" || true; }
has() { # PATTERN…: the answer has lines with them
	for pattern; do
		grep -qi "$pattern" "$dir/answer" || { echo "HTTP/$version: got no $pattern in"; cat "$dir/answer"; exit 1; }
	done
}
rejected() { # STATUS PATTERN ARGS…: the request gets this status and an Error body
	ask "${@:3}"
	has "^HTTP/[12.]* $1" "^content-type: application/json" "\"code\":\"[a-z_]*\",\"message\":\".*\",\"status\":$1" "$2"
}
for version in 1.1 2; do
	rejected 405 '^allow:.*post' -X CONNECT "$https/v1/pets"
	rejected 405 '^allow:.*post' -X TRACE "$https/v1/pets"
	rejected 400 invalid_request -X CONNECT --request-target example.com:443 "$https"
	rejected 400 invalid_request --path-as-is "$https/../etc/passwd"
	rejected 404 not_found "$https/_nginx/400"
	rejected 413 payload_too_large --data-binary "@$dir/large" "$https/v1/pets"
	has '^x-request-id: ' '^strict-transport-security: '
done
version=1.1
rejected 431 '16 KiB' "$https/v1/pets?$long" # over HTTP/2, the connection ends
rejected 431 '16 KiB' -H "X: $long" "$https/v1/pets"
rejected 400 invalid_request -H 'a b: c' "$https/v1/pets"
rejected 400 'use https' "$http/v1/pets"
rejected 400 'use https' --data-binary "@$dir/large" "$http/v1/pets?a=b"
rejected 400 'use https' "$http/_nginx/http"
rejected 400 'use https' "http://$1/v1/pets"
for path in / /docs; do
	ask -H 'Host: elsewhere.example' "$http$path"
	has '^HTTP/1.1 308' "^location: https://pets.example.com$path"
done

# A client at full speed waits and gets no 429, one with too many requests at once does.
for version in 1.1 2; do
	speed() { curl -sk "--http$version" -H "X-Client-Address: 192.0.2.${version#1.}" -o /dev/null -w '%{http_code}\n' "$@"; }
	begin=$(date +%s%N)
	[ "$(speed "$https/v1/pets?key=secret[1-250]" | sort | uniq -c | xargs)" = '250 401' ]
	[ $(($(date +%s%N) - begin)) -gt 2400000000 ]
done
speed -Z --parallel-max 128 "$https/v1/pets?key=secret[1-500]" | grep -q 429

# The log has short lines of what reached the service, without query strings. The log of errors is empty.
exec 3<>"/dev/tcp/${1/://}" # no TLS
printf '\x16\x03\x01\0\4\1\0\0\0' >&3
cat <&3 >/dev/null
ask "$https/v1/$(printf '%%ff%.0s' {1..3000})?key=secret"
ask "$https/v1/pets?key=secret"
grep -q '"GET /v1/pets" 401' "$log"
[ "$(wc -l <"$log")" -gt 500 ]
[ "$(wc -L <"$log")" -lt 500 ]
if grep -E 'secret|a=b|" (400|413|429|431) ' "$log"; then exit 1; fi
[ "$(wc -c <"${log%/*}/error.log")" = 0 ] || { head "${log%/*}/error.log"; exit 1; }
