# shellcheck shell=bash
# Installs what the machine lacks, and only that. Needs say.sh.

BUILD_PACKAGES=(build-essential pkg-config libibverbs-dev librdmacm-dev libibumad-dev ibverbs-providers)

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        die "root is needed for: $*"
    fi
}

package_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install -y --no-install-recommends "$@"
}

apt_update() {
    step "apt-get update"
    as_root apt-get -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1 </dev/null ||
        step "apt-get update did not fully succeed; going on with the lists there are"
}

# Usage: need_packages PACKAGE…
need_packages() {
    local package missing=()
    if ! command -v apt-get >/dev/null; then
        step "no apt-get here: please see to the equivalents of $*"
        return
    fi
    for package in "$@"; do
        package_installed "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    step "installing ${missing[*]}"
    # The package lists may be absent or old: refresh them only if the first try fails.
    apt_install "${missing[@]}" >/dev/null 2>&1 </dev/null && return
    apt_update
    quietly "installing packages" "is the network or the package mirror reachable?" apt_install "${missing[@]}"
}

# True if version $1 is at least version $2.
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Usage: need_cargo REPO. Makes a cargo of at least Cargo.toml's rust-version available.
need_cargo() {
    local wanted found
    wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$1/Cargo.toml" | head -n 1)
    [[ -d ${CARGO_HOME:-$HOME/.cargo}/bin ]] && PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    command -v cargo >/dev/null || install_rust
    found=$(cargo --version | cut -d ' ' -f 2)
    version_at_least "${found%%-*}" "$wanted" ||
        die "cargo $found is too old, $wanted is needed (for example: rustup update stable)"
}

install_rust() {
    local script
    script=$(mktemp)
    need_packages curl ca-certificates
    step "installing Rust with rustup"
    if ! { curl --proto '=https' --tlsv1.2 -sSf --max-time 60 https://sh.rustup.rs -o "$script" &&
        sh "$script" -y --profile minimal --component clippy,rustfmt >/dev/null; }; then
        die "there is no cargo and rustup could not be fetched; install Rust from https://rustup.rs"
    fi
    rm -f "$script"
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
}

# Usage: need_nextest REPO. Makes a cargo-nextest of at least the version in .config/nextest.toml available.
need_nextest() {
    local wanted found
    wanted=$(sed -n 's/^nextest-version *= *"\(.*\)"/\1/p' "$1/.config/nextest.toml")
    found=$(cargo nextest --version 2>/dev/null | sed -n '1s/^cargo-nextest \([^ ]*\).*/\1/p') || true
    if [[ -n $found ]] && version_at_least "$found" "$wanted"; then return; fi
    step "installing cargo-nextest, which runs the tests (a few minutes)"
    quietly "installing cargo-nextest" "is crates.io reachable?" cargo install --locked cargo-nextest
}

need_build_tools() {
    need_packages "${BUILD_PACKAGES[@]}"
    need_cargo "$1"
}
