#!/usr/bin/env bash
# Builds and tests the Swift package with the swift on the PATH, else with Debian
# trixie's in a root made once by debootstrap and kept, and runs the examples and the
# documentation's programs (dist/swift-docs, made by tests/docs/extract).
#
#   build/test-swift.sh ROOT PREFIX OUTPUT
#
# PREFIX is an installation of qtsaccel, which the package finds by pkg-config. OUTPUT
# is the folder for what the examples give, which tests/swift compares.
# DEBIAN_MIRROR chooses a mirror; otherwise it is the one that this machine's apt uses.
# All mounts are made in a mount namespace of this run's, and so end with it.
set -euo pipefail

tree=$(cd "$(dirname "$0")/.." && pwd)
root=$1
prefix=$(cd "$2" && pwd)
mkdir -p "$3"
output=$(cd "$3" && pwd)

# All that is done with Swift, with the tree, the installation and the folders for
# builds and results given.
work='
cd "$TREE/bindings/swift"
# The tests use XCTest; Swift Testing would tell that it found none.
only=$(swift test --help | grep -o -m1 -e --disable-swift-testing || true)
swift test $only --scratch-path "$SCRATCH/package"
cd "$TREE/examples/swift/programs"
swift build -c release --scratch-path "$SCRATCH/examples"
bin=$SCRATCH/examples/release
export QTSACCEL_BACKEND=cpu
cd "$TREE/dist/swift-docs"
swift build --scratch-path "$SCRATCH/docs"
for name in $(ls expected); do
    "$SCRATCH/docs/debug/$name" >"$OUTPUT/docs-$name.txt"
done
if [[ -n ${QTSACCEL_SHARED_DATA:-} ]]; then
    model=$QTSACCEL_SHARED_DATA/stories260k
    "$bin/story" "$model/stories260K_f32.gguf" "$model/tok512.bin" 60 "Zoë saw" >"$OUTPUT/story.txt"
    model=$QTSACCEL_SHARED_DATA/silero-vad
    "$bin/vad" "$model/silero_vad_v6.2_16k_from_onnx.safetensors" "$model/jfk.wav" >"$OUTPUT/vad.txt"
fi
if [[ -d $ESRGAN ]]; then
    "$bin/upscale" "$ESRGAN" "$TREE/examples/data/sample.png" "$OUTPUT/upscale.png"
fi
'
rm -f "$output"/*

if command -v swift >/dev/null; then
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
    export TREE=$tree SCRATCH=$tree/dist/swift-build OUTPUT=$output ESRGAN=$tree/dist/esrgan/x2
    exec bash -euo pipefail -c "$work"
fi

if [[ $(id -u) -ne 0 ]]; then
    echo "test-swift: left out: there is no swift on the PATH, and making a Debian root needs root" >&2
    [[ -z ${CI:-} ]] && exit 0 || exit 1
fi
if [[ -z ${IN_NAMESPACE:-} ]]; then
    IN_NAMESPACE=1 exec unshare --mount --propagation private "$BASH" "$0" "$@"
fi
mkdir -p "$(dirname "$root")"
root=$(cd "$(dirname "$root")" && pwd)/$(basename "$root")

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
        echo "test-swift: debootstrap failed, see $root.log" >&2
        exit 1
    fi
    touch "$root/.made"
fi

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$root" /bin/bash -euo pipefail -c "$1"
}

if [[ ! -e $root/.swift ]]; then
    echo "installing swiftlang" >&2
    # The host's name resolution and, since its clock may be off, its view on dates.
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    if ! inside "apt-get -o Acquire::Check-Date=false update -q &&
        apt-get install -y -q --no-install-recommends ca-certificates git g++ libpng-dev pkg-config swiftlang && apt-get clean" \
        >"$root.log" 2>&1 </dev/null; then
        tail -n 20 "$root.log" >&2
        echo "test-swift: apt-get failed, see $root.log" >&2
        exit 1
    fi
    touch "$root/.swift"
fi

mkdir -p "$root"/{src,prefix,scratch,output}
mount --bind "$tree" "$root/src"
mount -o remount,bind,ro "$root/src"
mount --bind "$prefix" "$root/prefix"
mount --bind "$output" "$root/output"
settings="PKG_CONFIG_PATH=/prefix/lib/pkgconfig LD_LIBRARY_PATH=/prefix/lib"
settings+=" TREE=/src SCRATCH=/scratch OUTPUT=/output ESRGAN=/src/dist/esrgan/x2"
if [[ -n ${QTSACCEL_SHARED_DATA:-} ]]; then
    mkdir -p "$root/data"
    mount --bind "$QTSACCEL_SHARED_DATA" "$root/data"
    settings+=" QTSACCEL_SHARED_DATA=/data"
fi
inside "export $settings; $work"
