#!/usr/bin/env bash
# Runs make targets against the ggml that Debian packages, in a Debian trixie root
# with ggml from backports. The root is made once by debootstrap and kept.
#
#   build/test-system-ggml.sh ROOT TARGET...
#
# DEBIAN_MIRROR chooses a mirror; otherwise it is the one that this machine's apt
# uses, or debootstrap's default. SYSTEM_GGML_PACKAGES adds Debian packages. The tree is bound read-only, with a dist/ of its own.
# All mounts are made in a mount namespace of this run's, and so end with it, however
# it ends.
set -euo pipefail

packages=(ca-certificates gcc g++ git make pkg-config libggml-dev libggml0-backend-vulkan ${SYSTEM_GGML_PACKAGES:-})

if [[ $(id -u) -ne 0 ]]; then
    echo "test-system-ggml: debootstrap and chroot need root" >&2
    exit 1
fi
if [[ -z ${IN_NAMESPACE:-} ]]; then
    IN_NAMESPACE=1 exec unshare --mount --propagation private "$BASH" "$0" "$@"
fi

tree=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$(dirname "$1")"
root=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift

apt_mirror() {
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 == "Debian" && $2 == "main" && $3 !~ /security/ { print $3; exit }'
}

if [[ ! -e $root/.made ]]; then
    rm -rf --one-file-system "$root"
    mirror=${DEBIAN_MIRROR:-$(apt_mirror || true)}
    echo "making a Debian root in $root" >&2
    if ! debootstrap --variant=minbase trixie "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1; then
        tail -n 20 "$root.log" >&2
        echo "test-system-ggml: debootstrap failed, see $root.log" >&2
        exit 1
    fi
    sed -n 's/^deb \(.*\) trixie main.*/deb \1 trixie-backports main/p' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/backports.list"
    touch "$root/.made"
fi

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$root" /bin/bash -euo pipefail -c "$1"
}

if [[ $(cat "$root/.packages" 2>/dev/null) != "${packages[*]}" ]]; then
    echo "installing ${packages[*]}" >&2
    # The host's name resolution and, since its clock may be off, its view on dates.
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    if ! inside "apt-get -o Acquire::Check-Date=false update -q &&
        apt-get install -y -q --no-install-recommends -t trixie-backports ${packages[*]}" >"$root.log" 2>&1 </dev/null; then
        tail -n 20 "$root.log" >&2
        echo "test-system-ggml: apt-get failed, see $root.log" >&2
        exit 1
    fi
    echo "${packages[*]}" >"$root/.packages"
fi

# The host's Go, with its module cache; what is built is the root's own.
goroot=$(go env GOROOT)
gomodcache=$(go env GOMODCACHE)
mkdir -p "$root"/{src,usr/local/go,gomodcache,dist/download,gocache} "$gomodcache" "$tree/dist/download"
mount --bind "$goroot" "$root/usr/local/go"
mount --bind "$gomodcache" "$root/gomodcache"
mount --bind "$tree" "$root/src"
mount -o remount,bind,ro "$root/src"
mount --bind "$root/dist" "$root/src/dist"
mount --bind "$tree/dist/download" "$root/src/dist/download" # there is no npm inside

settings="PATH=/usr/local/go/bin:\$PATH GOMODCACHE=/gomodcache GOCACHE=/gocache GOTOOLCHAIN=local GOFLAGS=-buildvcs=false"
if [[ -n ${QTSACCEL_SHARED_DATA:-} ]]; then
    mkdir -p "$root/data"
    mount --bind "$QTSACCEL_SHARED_DATA" "$root/data"
    settings+=" QTSACCEL_SHARED_DATA=/data"
fi
inside "cd /src && export $settings && git config --global --replace-all safe.directory '*' &&
    echo \"ggml \$(pkg-config --modversion ggml) of \$(. /etc/os-release; echo \$PRETTY_NAME)\" &&
    make GGML=system $*"
