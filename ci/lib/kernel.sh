# shellcheck shell=bash
# Debian's own kernel, unpacked under the state folder and never installed. Needs say.sh and install.sh.

# Newest first. The kernel must have rdma_rxe, sch_netem, veth and 9p; the "cloud" flavour has no RDMA.
KERNEL_METAPACKAGES=(linux-image-6.12-amd64 linux-image-amd64)

# Prints the path of the unpacked kernel image, if there is one.
kernel_image() { compgen -G "$1/kernel/boot/vmlinuz-*" | head -n 1; }

# Prints the real package behind the first metapackage that the package lists know.
kernel_package() {
    local meta real
    for meta in "${KERNEL_METAPACKAGES[@]}"; do
        real=$(apt-cache depends "$meta" 2>/dev/null |
            sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
        if [[ -n $real ]]; then
            echo "$real"
            return
        fi
    done
}

# Usage: need_kernel STATE
need_kernel() {
    local state=$1 package
    [[ -n $(kernel_image "$state") ]] && return
    [[ $(uname -m) == x86_64 ]] || die "the virtual machine is made for x86_64 only, this is $(uname -m)"
    command -v apt-cache >/dev/null ||
        die "a kernel with rdma_rxe is fetched with apt, which is not here; use VERBCAST_SOFTROCE=native"
    package=$(kernel_package)
    if [[ -z $package ]]; then
        apt_update
        package=$(kernel_package)
    fi
    [[ -n $package ]] || die "apt knows none of: ${KERNEL_METAPACKAGES[*]}"
    step "downloading the kernel $package (about 100 MB)"
    rm -rf "$state/kernel.new"
    mkdir -p "$state/kernel.new"
    (cd "$state/kernel.new" && download_package "$package")
    unpack_kernel "$state/kernel.new"
    mv "$state/kernel.new" "$state/kernel"
}

download_package() {
    apt-get -o APT::Sandbox::User=root download "$1" >/dev/null 2>&1 </dev/null && return
    apt_update
    quietly "downloading $1" "is the package mirror reachable?" apt-get -o APT::Sandbox::User=root download "$1"
}

unpack_kernel() {
    local dir=$1 deb version
    deb=$(compgen -G "$dir/*.deb" | head -n 1)
    dpkg -x "$deb" "$dir" || die "unpacking $deb failed; remove $dir and try again"
    rm -f "$deb"
    [[ -d $dir/lib/modules ]] || ln -s usr/lib "$dir/lib"
    version=$(basename "$(compgen -G "$dir/boot/vmlinuz-*" | head -n 1)")
    quietly "depmod" "is kmod installed?" "$(PATH=$PATH:/sbin:/usr/sbin command -v depmod)" \
        -b "$dir" "${version#vmlinuz-}"
}
