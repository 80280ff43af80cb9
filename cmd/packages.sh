# Sourced, not run: the packages that driftless is built from, and how they are installed.
# What is installed already costs one look; nothing else is touched.

build_packages=(g++ cmake ninja-build pkg-config liburing-dev libsimdjson-dev libcli11-dev
    libfmt-dev libarchive-dev zlib1g-dev libpcre2-dev libutf8proc-dev
    libssl-dev libtomlplusplus-dev libyaml-cpp-dev libprotozero-dev libxlsxwriter-dev
    systemtap-sdt-dev node-d3-scale)

# The HTTP parser: a library of its own in newer releases, C sources beside node's in Debian 12.
llhttp_package() {
    if [ -n "$(apt-cache search --names-only '^libllhttp-dev$')" ]; then
        echo libllhttp-dev
    else
        echo node-llhttp
    fi
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages NAME..: through apt, with sudo where we are not root.
install_packages() {
    if ! command -v apt-get >/dev/null; then
        echo "no apt-get here: the build needs what Debian calls $*, and llhttp" >&2
        return 0
    fi
    local missing=() name as_root=()
    is_installed node-llhttp || is_installed libllhttp-dev || missing+=(llhttp)
    for name in "$@"; do
        is_installed "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "installing: ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    missing=("${missing[@]/#llhttp/$(llhttp_package)}")
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
