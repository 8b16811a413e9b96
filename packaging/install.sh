#!/bin/sh
# Installs Steelyard from a folder of released files: install.sh [--key FILE] [--prefix DIR] [--version VERSION] URL
#
# URL is where SHA256SUMS and the tarballs are (https://, http:// or file://). The tarball for this machine is downloaded,
# compared with SHA256SUMS, and its program, manual pages and completions go below DIR (/usr/local). With --key, a file of
# public keys as gpgv reads it, SHA256SUMS must be signed by one of them. Nothing is installed unless all of that holds.
set -eu

key="" prefix=/usr/local version="" url=""
fail() {
    echo "install.sh: $*" >&2
    exit 1
}
while [ $# -gt 0 ]; do
    case "$1" in
    --key) key=${2:?"--key needs a file"} && shift 2 ;;
    --prefix) prefix=${2:?"--prefix needs a directory"} && shift 2 ;;
    --version) version=${2:?"--version needs a version"} && shift 2 ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) fail "there is no option $1; there are: --key, --prefix, --version" ;;
    *) url=${1%/} && shift ;;
    esac
done
[ -n "$url" ] || fail "where from? Give the address of the folder that has SHA256SUMS"

for tool in curl sha256sum tar xz; do
    command -v "$tool" >/dev/null || fail "$tool is missing: install it with the package manager"
done
[ "$(uname -s)" = Linux ] || fail "Steelyard runs on Linux; this is $(uname -s)"
case "$(uname -m)" in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) fail "there is no build for $(uname -m), only for x86_64 and aarch64: build it with make package" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
    curl --fail --silent --show-error --location --retry 3 --output "$work/$1" "$url/$1" ||
        fail "$url/$1 could not be downloaded"
}

fetch SHA256SUMS
if [ -n "$key" ]; then
    command -v gpgv >/dev/null || fail "gpgv is missing: install it, or leave out --key"
    fetch SHA256SUMS.asc
    gpgv --keyring "$(realpath "$key")" "$work/SHA256SUMS.asc" "$work/SHA256SUMS" 2>"$work/gpgv" ||
        fail "SHA256SUMS is not signed by a key of $key: $(tail -n1 "$work/gpgv")"
else
    echo "install.sh: no --key is given: checksums are compared, and not who made them" >&2
fi

name=$(sed -n "s/^[0-9a-f]*  \(steelyard-.*-linux-$arch\.tar\.xz\)$/\1/p" "$work/SHA256SUMS" |
    { if [ -n "$version" ]; then grep -Fx "steelyard-$version-linux-$arch.tar.xz" || true; else sort -V; fi; } | tail -n1)
[ -n "$name" ] || fail "SHA256SUMS of $url has no tarball ${version:+of version $version }for $arch"
case "$name" in */* | *..*) fail "SHA256SUMS of $url has an unexpected name: $name" ;; esac
fetch "$name"
(cd "$work" && grep -F "  $name" SHA256SUMS | sha256sum --check --quiet --strict) >/dev/null 2>&1 ||
    fail "$name does not have the checksum of SHA256SUMS: the download is incomplete or was changed"

tar -C "$work" -xf "$work/$name"
from=$work/${name%.tar.xz}
"$from/steelyard" --version >/dev/null 2>"$work/said" ||
    fail "the program does not run here: $(head -n1 "$work/said"). It needs: $(tr '\n' ' ' <"$from/NEEDED")"
mkdir -p "$prefix" && [ -w "$prefix" ] || fail "$prefix cannot be written: run as root, or give --prefix"

# The program last, in one step: whoever starts it meanwhile gets the old one or the new one.
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/man/man5" \
    "$prefix/share/bash-completion/completions" "$prefix/share/doc"
cp "$from"/man/*.1.gz "$prefix/share/man/man1/"
cp "$from"/man/*.5.gz "$prefix/share/man/man5/"
cp "$from/completions/steelyard.bash" "$prefix/share/bash-completion/completions/steelyard"
rm -rf "$prefix/share/doc/steelyard"
cp -r "$from/doc" "$prefix/share/doc/steelyard"
install -m 755 "$from/steelyard" "$prefix/bin/.steelyard.new"
mv "$prefix/bin/.steelyard.new" "$prefix/bin/steelyard"
echo "$("$prefix/bin/steelyard" --version) is installed: $prefix/bin/steelyard"
echo "Next: $prefix/bin/steelyard init"
