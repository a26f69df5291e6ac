#!/bin/bash
# Runs in the guest, as root: has programs and libraries kept in its memory, which are otherwise read from the host
# whenever they are run. What the host has changed since the last time is read anew.
# Usage: programs.sh TARGET PLUGINS: cargo's folder, and the archive of vm_plugins in ci/lib/vm.sh
set -euo pipefail

target=$1
plugins=$2
kept=/run/verbcast
options=ro,trans=virtio,version=9p2000.L,access=any,msize=512000,cache=loose

# The guest sees /usr as it did, with changes of its own, and the modules of its own kernel.
keep_usr() {
    mkdir -p "$kept"/{usr,changes,work,merged,target}
    mount -t 9p -o "$options" usr "$kept/usr"
    # Of what is read from the host only the bytes stay in memory: each opening of a file still costs requests. MPI opens most.
    tar -x -f "$plugins" -C "$kept/changes" --strip-components=1
    mount -t overlay -o "lowerdir=$kept/usr,upperdir=$kept/changes,workdir=$kept/work" overlay "$kept/merged"
    mkdir -p "$kept/merged/lib/modules"
    mount --bind /usr/lib/modules "$kept/merged/lib/modules"
    mount --rbind "$kept/merged" /usr
}

echo 3 >/proc/sys/vm/drop_caches
if [[ ! -d $kept ]]; then
    keep_usr
    mount -t 9p -o "$options" target "$kept/target"
fi
for folder in debug release openmpi mpich mpi-tests; do
    [[ -d $kept/target/$folder ]] || continue
    mountpoint -q "$target/$folder" || mount --bind "$kept/target/$folder" "$target/$folder"
done
