# Sourced by the scripts beside it, which follow CONTRIBUTING.md in a clone.
set -eux -o pipefail

# page TEXT prints the block of Go that begins with TEXT.
page() {
	awk -v text="$1" '
		/^ *```/ { inside = /```go/; first = inside; next }
		inside { sub(/^   /, "") }
		first { found = index($0, text) == 1; first = 0 }
		inside && found { print; n++ }
		END { exit n == 0 }' .github/CONTRIBUTING.md
}

# code TEXT prints TEXT, which must be in the page.
code() { tr -s '\n ' ' ' <.github/CONTRIBUTING.md | grep -F "$1" >/dev/null && printf '%s' "$1"; }
