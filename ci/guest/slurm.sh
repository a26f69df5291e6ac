# shellcheck shell=bash
# Slurm on the hosts of a cluster, from Debian's packages: munged and slurmd on each, slurmctld on node1. Every host
# offers more processors than it has, since ranks here outnumber them anyway.

# Usage: slurm_up HOSTS HOST SECRET. SECRET is a file with what the hosts' munge daemons share.
slurm_up() {
    pidof slurmd >/dev/null && return
    munge_up "$3"
    mkdir -p /etc/slurm /var/spool/slurmd /var/spool/slurmctld
    slurm_conf "$1" >/etc/slurm/slurm.conf
    # There is no systemd that could make control groups for slurmd.
    echo "IgnoreSystemd=yes" >/etc/slurm/cgroup.conf
    mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
    mkdir -p /sys/fs/cgroup/system.slice
    if (($2 == 1)); then slurmctld_up; fi
    slurmd || {
        cat /var/log/slurmd.log >&2
        return 1
    }
}

munge_up() {
    mkdir -p /run/munge /var/log/munge /var/lib/munge /etc/munge
    # It accepts no key that others may read, and no socket in a folder that is not everybody's to enter.
    install -m 400 "$1" /etc/munge/munge.key
    chmod 755 /run/munge
    munged --force
}

# Everybody's job is root's, so that nothing has to be set up for others.
slurm_conf() {
    cat <<END
ClusterName=softroce
SlurmctldHost=node1
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdTimeout=0
MpiDefault=none
NodeName=node[1-$1] CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

slurmctld_up() {
    local tries
    slurmctld
    for tries in {1..120}; do
        [[ $(scontrol ping 2>/dev/null) == *'is UP'* ]] && return
        sleep 0.5
    done
    echo "error: slurmctld does not answer after $tries tries" >&2
    cat /var/log/slurmctld.log >&2
    return 1
}
