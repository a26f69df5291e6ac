# shellcheck shell=bash
# The kernel of the virtual machine, Debian's own, unpacked under the state folder and never installed. Needs say.sh
# and install.sh, and the variable STATE.
#
# STATE/kernels/NAME/   the unpacked package, for NAME 6.12 or the package that VERBCAST_KERNEL names

# What is tested and published is from this one, so that another is taken only if it is asked for. A kernel must have
# rdma_rxe, sch_netem, veth and 9p; the "cloud" flavour has no RDMA.
KERNEL_SERIES=6.12
# One of these leads to it, depending on the distribution's release.
KERNEL_METAPACKAGES=("linux-image-$KERNEL_SERIES-amd64" linux-image-amd64)

kernel_folder() { echo "$STATE/kernels/${VERBCAST_KERNEL:-$KERNEL_SERIES}"; }

# Prints the path of the unpacked kernel image, if there is one.
kernel_image() { compgen -G "$(kernel_folder)/boot/vmlinuz-*" | head -n 1; }

# Prints what `uname -r` will say.
kernel_version() {
    local image
    image=$(kernel_image)
    echo "${image##*/vmlinuz-}"
}

# Prints the package with the kernel itself that a metapackage leads to, or the package if it is not a metapackage.
# Usage: kernel_behind PACKAGE
kernel_behind() {
    local real
    real=$(apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    if [[ -n $real ]]; then
        echo "$real"
    elif apt-cache show "$1" >/dev/null 2>&1; then
        echo "$1"
    fi
}

# Prints the package with the wanted kernel, if the package lists know it.
kernel_package() {
    local meta real
    if [[ -n ${VERBCAST_KERNEL:-} ]]; then
        kernel_behind "$VERBCAST_KERNEL"
        return
    fi
    for meta in "${KERNEL_METAPACKAGES[@]}"; do
        real=$(kernel_behind "$meta")
        if [[ $real == "linux-image-$KERNEL_SERIES."* ]]; then
            echo "$real"
            return
        fi
    done
}

need_kernel() {
    local to package
    [[ ${VERBCAST_KERNEL:-none} =~ ^[a-z0-9][a-z0-9.+-]*$ ]] || die "VERBCAST_KERNEL=$VERBCAST_KERNEL is not a name of a package"
    to=$(kernel_folder)
    [[ -z ${VERBCAST_KERNEL:-} ]] ||
        step "VERBCAST_KERNEL: taking the kernel of $VERBCAST_KERNEL, not $KERNEL_SERIES, with which all is tested"
    [[ -n $(kernel_image) ]] && return
    [[ $(uname -m) == x86_64 ]] || die "the virtual machine is made for x86_64 only, this is $(uname -m)"
    command -v apt-cache >/dev/null ||
        die "a kernel with rdma_rxe is fetched with apt, which is not here; use VERBCAST_SOFTROCE=native"
    package=$(kernel_package)
    if [[ -z $package ]]; then
        apt_update
        package=$(kernel_package)
    fi
    [[ -n $package ]] || no_kernel
    step "downloading the kernel $package (about 100 MB)"
    rm -rf "$to.new"
    mkdir -p "$to.new"
    (cd "$to.new" && download_package "$package")
    unpack_kernel "$to.new"
    rm -rf "$to"
    mv "$to.new" "$to"
}

no_kernel() {
    [[ -z ${VERBCAST_KERNEL:-} ]] || die "apt knows no package $VERBCAST_KERNEL, which VERBCAST_KERNEL names"
    die "apt knows no kernel $KERNEL_SERIES, with which all is tested (looked for: ${KERNEL_METAPACKAGES[*]}).
Debian 12 has it in the suite bookworm-security, Debian 13 in trixie: see to it that /etc/apt names one of them and that
its mirror is reachable, and try again. Or take another kernel, whose figures then differ from those published:
VERBCAST_KERNEL=PACKAGE, for example linux-image-amd64."
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
    [[ $version == vmlinuz-* ]] || die "the package has no kernel image; is it one of linux-image-…?"
    quietly "depmod" "is kmod installed?" "$(PATH=$PATH:/sbin:/usr/sbin command -v depmod)" \
        -b "$dir" "${version#vmlinuz-}"
}
