# Sourced, not run, by what builds a package: for which architecture, with which compiler, from which libraries.
# After `choose_architecture ARCH` (Debian's name; this host's where it is empty):
#   architecture, machine  amd64, x86_64 (of dpkg, of uname -m)
#   suffix                 of build folders: "" for this host's architecture, else -arm64
#   cross_packages         what a cross build needs of this host beside `build_packages`
#   compiler               prefix of the compiler's name
#   sysroot, database      where the libraries and headers of ARCH lie (/ for this host's), and what dpkg says of them
#   configure              flags of CMake: reproducible, and for ARCH
# Paths in a program are relative to the source tree, so that a build in any folder gives equal bytes.

# Archives that only the static program needs.
static_packages=(libzstd-dev liblzma-dev libbz2-dev)

choose_architecture() {
    local own
    own=$(dpkg --print-architecture)
    architecture=${1:-$own}
    case $architecture in
    amd64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *)
        echo "$0: no packages are made for '$architecture'; it is amd64 or arm64" >&2
        return 2
        ;;
    esac
    suffix='' compiler='' sysroot=/ database=/var/lib/dpkg cross_packages=()
    local mapped=-ffile-prefix-map=$PWD=.
    configure=(-G Ninja -DTESTS=OFF -DUNITY=ON "-DCMAKE_C_FLAGS=$mapped" "-DCMAKE_CXX_FLAGS=$mapped -Wno-psabi"
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,-Map=.)
    umask 022 # modes of what is packed
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
    export SOURCE_DATE_EPOCH
    [ "$architecture" != "$own" ] || return 0
    suffix=-$architecture
    compiler=$machine-linux-gnu-
    sysroot=$PWD/build-sysroot$suffix database=$PWD/build-sysroot$suffix/var/lib/dpkg
    cross_packages=("g++-${machine//_/-}-linux-gnu" qemu-user-static)
    local libraries=$sysroot/usr/lib/$machine-linux-gnu
    export PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$sysroot/usr/share/pkgconfig
    # The cross compiler has a C library of its own, which no security update reaches: that of the sysroot first.
    configure+=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_SYSROOT="$sysroot"
        -DCMAKE_C_COMPILER="${compiler}gcc" -DCMAKE_CXX_COMPILER="${compiler}g++"
        -DCMAKE_EXE_LINKER_FLAGS="-Wl,-Map=. -B$libraries -L$libraries"
        -DCMAKE_FIND_ROOT_PATH="$PWD" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY
        -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY
        -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-$machine-static;-L;$sysroot")
}

# own_apt FOLDER: sets `apt`, which reads Debian's lists of packages and sources for `architecture` into FOLDER, through
# its signatures. This host's lists are left as they are.
own_apt() {
    local lists=$1/lists uri=http://deb.debian.org release
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mkdir -p "$lists/partial" "$1/archives/partial"
    printf '%s main\n' "deb $uri/debian $release" "deb $uri/debian $release-updates" \
        "deb $uri/debian-security $release-security" "deb-src $uri/debian $release" \
        "deb-src $uri/debian $release-updates" "deb-src $uri/debian-security $release-security" >"$1/sources.list"
    apt=(apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
        -o Dir::State::status="$database/status"
        -o Dir::Etc::sourcelist="$1/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$lists"
        -o Dir::Cache::archives="$1/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1)
    [ -e "$lists/updated" ] || { "${apt[@]}" update && touch "$lists/updated"; }
}

# make_sysroot: the libraries of build and tests and all that they depend on, unpacked below `sysroot` and listed in
# its dpkg database; no script of a package is run. This host's dpkg is left as it is. Kept where it is there.
make_sysroot() {
    local package name wanted=("${static_packages[@]}" libgtest-dev)
    [ "$sysroot" != / ] || return 0
    for name in "${build_packages[@]}"; do
        [[ $name != *-dev ]] || wanted+=("$name")
    done
    [ "$(cat "$database/wanted" 2>/dev/null)" != "${wanted[*]}" ] || return 0
    rm -rf "$sysroot"
    mkdir -p "$database/info"
    touch "$database/status"
    echo 1 >"$database/info/format" # names of lists may end in :ARCH
    own_apt "$database/apt"
    "${apt[@]}" install -y --download-only --no-install-recommends "${wanted[@]}" >/dev/null
    # As after usrmerge, which the packages of Debian 12 do not say themselves.
    mkdir -p "$sysroot/usr/lib" "$sysroot/usr/bin" "$sysroot/usr/sbin"
    ln -s usr/lib usr/bin usr/sbin "$sysroot"
    for package in "$database"/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$sysroot"
        name=$(dpkg-deb -W --showformat='${Package}' "$package")
        [ "$(dpkg-deb -f "$package" Multi-Arch)" != same ] || name+=:$architecture
        # Where the files lie, so that dpkg -S and dpkg-shlibdeps find their packages.
        dpkg-deb --fsys-tarfile "$package" | tar -t |
            sed "s,^\./\(lib\|bin\|sbin\)/,./usr/\1/,; s,/$,,; s,^\.,$sysroot," >"$database/info/$name.list"
        dpkg-deb -e "$package" "$database/control"
        for part in symbols shlibs; do
            [ ! -e "$database/control/$part" ] || mv "$database/control/$part" "$database/info/$name.$part"
        done
        { dpkg-deb -f "$package" && printf 'Status: install ok installed\n\n'; } >>"$database/status"
        rm -r "$database/control" "$package"
    done
    # Links such as libm.so -> /lib/.. would lead out of it.
    find "$sysroot" -type l -lname '/*' | while IFS= read -r name; do
        ln -sfnr "$sysroot$(readlink "$name")" "$name"
    done
    echo "${wanted[*]}" >"$database/wanted"
}
