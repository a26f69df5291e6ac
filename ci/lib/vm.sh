# shellcheck shell=bash
# A virtual machine (virtme-ng) that sees the host's file system and runs ci/guest/agent.sh.
# Needs say.sh, install.sh and kernel.sh, and the variables REPO and STATE (REPO's target/softroce).
#
# One machine is used at a time, that of `vm_use`; its folder is VM:
#
# VM/pid      the process group of the running machine
# VM/up       the time in seconds, written by the guest's agent once it waits for jobs
# VM/kernel   its kernel: the folder of kernel.sh, and the version
# VM/plugins.tar  what the machine has copies of in its memory, for ci/guest/programs.sh
# VM/jobs/    see job.sh
# CONSOLE     the console of the machine that ran last

VM_PACKAGES=(qemu-system-x86 kmod iproute2 busybox-static python3-venv
    ibverbs-providers ibverbs-utils rdmacm-utils)
VIRTME_VERSION=1.42
KVM_LIMIT=30
BOOT_LIMIT=240
# Seconds by which a machine's clock may differ from the host's.
CLOCK_TOLERANCE=20
# A machine that nobody stops ends by itself.
LIFETIME=6h

# Turns to the machine that is alone, or to the host of a cluster with that number.
# Usage: vm_use [NUMBER]
vm_use() {
    NODE=${1:-}
    VM=$STATE/vm$NODE
    CONSOLE=$STATE/console$NODE.log
}

vm_prepare() {
    need_packages "${VM_PACKAGES[@]}"
    need_virtme
    need_kernel
}

need_virtme() {
    [[ -x $STATE/venv/bin/virtme-run ]] && return
    step "installing virtme-ng $VIRTME_VERSION into a virtual environment"
    rm -rf "$STATE/venv"
    quietly "python3 -m venv" "is python3-venv installed?" python3 -m venv "$STATE/venv"
    quietly "installing virtme-ng" "is PyPI reachable?" \
        "$STATE/venv/bin/pip" install --quiet --disable-pip-version-check "virtme-ng==$VIRTME_VERSION"
}

vm_pid() { cat "$VM/pid" 2>/dev/null; }

# The number alone may belong to another process by now, so look at what it runs too.
vm_running() {
    local pid
    pid=$(vm_pid) && [[ -n $pid ]] && grep -qsF "$VM" "/proc/$pid/cmdline"
}

# Has a QEMU do something; fails if it does not answer, or does not know what. Usage: qemu_say FOLDER COMMAND. FOLDER has the socket
# of its monitor; from there, because a socket's path must be short.
qemu_say() {
    local said
    said=$(echo "$2" | (cd "$1" && socat -t 2 - UNIX-CONNECT:monitor.sock)) && [[ $said == *"(qemu)"* && $said != *Error:* ]]
}

# The kernel's version of the machine that runs.
vm_kernel() { sed -n 2p "$VM/kernel"; }

# A machine that runs already must have the kernel that is wanted now.
vm_check_kernel() {
    [[ $(sed -n 1p "$VM/kernel") == "$(kernel_folder)" ]] ||
        die "the virtual machine that runs has the kernel $(vm_kernel), but ${VERBCAST_KERNEL:-$KERNEL_SERIES} is wanted;" \
            "end it first, with: ci/softroce stop"
}

# Usage: vm_start. Leaves the accelerator that worked in STATE/accel, so that KVM is tried once only. Under emulation on a busy
# host a boot may fail, once in a long while: a kernel that panics before the agent runs, or a wrong clock.
vm_start() {
    local accel
    accel=${VERBCAST_SOFTROCE_ACCEL:-$(cat "$STATE/accel" 2>/dev/null || true)}
    if [[ -z $accel ]]; then
        accel=tcg
        if [[ -r /dev/kvm && -w /dev/kvm ]]; then
            step "trying KVM (at most $KVM_LIMIT s, only this once)"
            if vm_boot kvm "$KVM_LIMIT"; then
                echo kvm >"$STATE/accel"
                step "up after $VM_BOOT_SECONDS s, kernel $(vm_kernel)"
                return
            fi
            vm_stop
        fi
        echo tcg >"$STATE/accel"
    fi
    step "booting the virtual machine ($accel)"
    if ! vm_boot "$accel" "$BOOT_LIMIT" || ! vm_clock_is_right; then
        step "booting it again; what it said is in ${CONSOLE%.log}.first.log"
        cp "$CONSOLE" "${CONSOLE%.log}.first.log"
        vm_stop
        vm_boot "$accel" "$BOOT_LIMIT" || vm_died "the virtual machine did not come up again"
        vm_clock_is_right || vm_died "the virtual machine has no right clock"
    fi
    step "up after $VM_BOOT_SECONDS s, kernel $(vm_kernel)"
}

# Usage: vm_boot ACCEL LIMIT. Returns once the guest's agent is there, or fails.
vm_boot() {
    vm_launch "$1"
    vm_wait "$2"
}

# Usage: vm_wait LIMIT
vm_wait() {
    local began=$SECONDS
    until [[ -e $VM/up ]]; do
        if ! vm_running || ((SECONDS - began > $1)); then
            return 1
        fi
        sleep 0.2
    done
    VM_BOOT_SECONDS=$((SECONDS - began))
}

# Whether the clock of a machine that has just come up is the host's. On a busy host a kernel may measure its CPU's clock
# so wrongly that its own is many times too fast, and all time limits in it are over soon.
vm_clock_is_right() {
    local ahead
    ahead=$(($(<"$VM/up") - $(stat -c %Y "$VM/up")))
    ((ahead < -CLOCK_TOLERANCE || ahead > CLOCK_TOLERANCE)) || return 0
    step "the clock of the virtual machine is $ahead s ahead after a boot of $VM_BOOT_SECONDS s"
    return 1
}

# Usage: vm_launch ACCEL
vm_launch() {
    rm -rf "$VM"
    mkdir -p "$VM/jobs"
    printf '%s\n' "$(kernel_folder)" "$(kernel_version)" >"$VM/kernel"
    vm_plugins "$VM/plugins.tar"
    local target=${CARGO_TARGET_DIR:-$REPO/target} tag
    mkdir -p "$target"
    target=$(realpath "$target")
    local options=(--run "$(kernel_image)" --force-9p --user root --cpus "$(nproc)" --memory "$(vm_memory)"
        --verbose --append "tsc=reliable loglevel=5" --cwd "$REPO" --rwdir "$REPO")
    # Without ERMS: the emulator moves a byte in each step of "rep movsb", where a processor moves a cache line. The C library
    # and the kernel then copy by other loops. A kernel without CX16 (programs as Open MPI need it): QEMU (7.2 at least) leaves
    # in the flags, after cmpxchg16b, what an addition before it had for its source, which is an object's address in the
    # kernel's allocator; an interrupt at that place makes flags of it, and with VM, NT or TF among them the kernel panics.
    [[ $1 == kvm ]] || options+=(--disable-kvm --qemu-opts="-cpu max,-erms" --append "clearcpuid=cx16")
    # A target folder elsewhere must be writable from inside as well.
    [[ $target == "$(realpath "$REPO")"/* ]] || options+=(--rwdir "$target")
    # For programs.sh.
    for tag in "usr=/usr" "target=$target"; do
        options+=(--qemu-opts="-virtfs local,mount_tag=${tag%%=*},path=${tag#*=},security_model=none,readonly=on,multidevs=remap")
    done
    # For ci/softroce shell. The path is relative to the folder in which the machine is started.
    options+=(--qemu-opts="-monitor unix:monitor.sock,server=on,wait=off")
    options+=(--qemu-opts="-chardev socket,id=shell,path=shell.sock,server=on,wait=off"
        --qemu-opts="-device virtio-serial-pci,id=shellbus -device virtconsole,bus=shellbus.0,chardev=shell")
    [[ -z $NODE ]] || options+=(--name "$(host_name "$NODE")" --qemu-opts="$(wire_device "$NODE")" \
        --qemu-opts="$(page_device)")
    # Its own session: Ctrl-C at a terminal reaches this script, which then ends the machine in order.
    PATH=$STATE/venv/bin:$PATH:/usr/sbin:/sbin env -C "$VM" setsid timeout -k 5 "$LIFETIME" \
        vng "${options[@]}" -- "$(printf '%q ' bash "$REPO/ci/guest/agent.sh" "$VM" "$target")" \
        >"$CONSOLE" 2>&1 </dev/null 5>&- 9>&- &
    echo $! >"$VM/pid"
    # vm_running looks at the command line, which the new process has only after a moment.
    until vm_running || [[ ! -d /proc/$! ]]; do sleep 0.05; done
}

# Packs what MPI and verbs open many files of when a program starts. One file is read by a guest much faster than each of them.
# Usage: vm_plugins ARCHIVE
vm_plugins() {
    local folder folders=()
    for folder in /usr/lib/*/{openmpi,pmix2,libibverbs}; do
        [[ ! -d $folder ]] || folders+=("${folder#/}")
    done
    tar -c -f "$1" -C / --exclude=include "${folders[@]}"
}

# A quarter of the host's memory, between 2 and 6 GiB; of a cluster each host has its part of twice that, of 1 GiB at least.
vm_memory() {
    local gib
    gib=$(awk '/^MemTotal/ { print int($2 / 1048576 / 4) }' /proc/meminfo)
    gib=$((gib < 2 ? 2 : gib > 6 ? 6 : gib))
    if [[ -n $NODE ]]; then
        gib=$((2 * gib / HOSTS))
        ((gib > 0)) || gib=1
    fi
    echo "${gib}G"
}

vm_stop() {
    local pid tries
    if vm_running; then
        pid=$(vm_pid)
        kill -TERM -- "-$pid" 2>/dev/null || true
        for tries in {1..50}; do
            kill -0 -- "-$pid" 2>/dev/null || break
            ((tries < 30)) || kill -KILL -- "-$pid" 2>/dev/null || true
            sleep 0.1
        done
    fi
    rm -rf "$VM"
}

# Where a kernel complains, the cause is in its first lines; else the end says most.
console_shows() {
    local first
    first=$(grep -n -m 1 -E 'BUG:|Oops|general protection fault|invalid opcode|kernel BUG at|Kernel panic' "$CONSOLE" | cut -d : -f 1 || true)
    if [[ -n $first ]]; then
        sed -n "$first,$((first + 60))p" "$CONSOLE"
    else
        tail -n 15 "$CONSOLE"
    fi
}

# Usage: vm_died MESSAGE. The machine's end is an error of its own, not the command's.
vm_died() {
    printf -- '-- from %s:\n' "$CONSOLE" >&2
    console_shows 2>/dev/null | tr -d '\r' >&2 || true
    vm_stop
    DIE_STATUS=125 die "$1; its console is in $CONSOLE"
}
