# Sourced, not run: the packages that driftless is built from, how they are installed, and a build that
# says how far it is.
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

# build_with_progress FOLDER [TARGET..]: ninja, with steps done, seconds, and about how many are left: one
# line that is rewritten on a terminal, else a line each 10 %. All else that ninja says is handed on.
build_with_progress() {
    local folder=$1 line end='\n' every=10 told=-1 percent left status=0
    shift
    ! [ -t 1 ] || { end='\033[K\r'; every=1; }
    NINJA_STATUS='@%f %t %e ' ninja -C "$folder" "$@" | while IFS= read -r line; do
        if [[ $line =~ ^@([1-9][0-9]*)\ ([0-9]+)\ ([0-9]+) ]]; then
            percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2] / every * every))
            [ "$percent" -ne "$told" ] || continue
            told=$percent
            left=$((BASH_REMATCH[3] * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1]))
            printf "building: %d of %d steps, %d s, about %d s left$end" \
                "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}" "$left"
        elif [[ $line != ninja:* && $line != @* ]]; then
            printf '%s\n' "$line"
        fi
    done || status=$?
    ! [ -t 1 ] || printf '\033[K'
    return $status
}
