#!/bin/sh
# Makes a Debian package of a built server. usage: deb.sh PATH_OF_TENSORD DIRECTORY
# Prints the path of the package, which depends on the packages whose libraries it is linked with.
set -e
tensord=$1
directory=$2
here=$(dirname "$0")
version=$("$tensord" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# dpkg knows some files by the path that they had before /lib became /usr/lib.
owner() {
    dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}"
}

# The packages of the libraries that the server is linked with itself.
needed() {
    names=$(objdump -p "$1" | awk '$1 == "NEEDED" {print $2}')
    for name in $names; do
        path=$(LC_ALL=C ldd "$1" | awk -v n="$name" '$1 == n {print $3}')
        [ -z "$path" ] || owner "$(readlink -f "$path")"
    done | cut -d : -f 1 | sort -u
}

put() {
    install -D -m "$1" "$2" "$root/$3"
}

put 755 "$tensord" usr/bin/tensord
strip --strip-unneeded "$root/usr/bin/tensord"
put 644 "$here/tensord.service" lib/systemd/system/tensord.service
put 644 README.md usr/share/doc/tensord/README.md
put 644 SECURITY.md usr/share/doc/tensord/SECURITY.md
put 644 LICENSE usr/share/doc/tensord/copyright
put 644 CHANGELOG.md usr/share/doc/tensord/changelog
gzip -9n "$root/usr/share/doc/tensord/changelog"
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" "$root/DEBIAN"
"$tensord" manual | gzip -9n >"$root/usr/share/man/man1/tensord.1.gz"
"$tensord" completion >"$root/usr/share/bash-completion/completions/tensord"
cat >"$root/DEBIAN/control" <<END
Package: tensord
Version: $version
Architecture: $architecture
Maintainer: tensord
Section: science
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $(needed "$tensord" | paste -s -d , | sed 's/,/, /g')
Suggests: graphviz
Description: networked tensor compute server
 Anyone who can make an HTTP request can compute with tensors: a client in any
 language sends tensors and programs, the server evaluates them with NumPy's
 semantics, and keeps what has a name, durably, as plain files.
END
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now tensord.service || true
fi
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
package=$directory/tensord_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
