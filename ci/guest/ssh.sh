# shellcheck shell=bash
# ssh between the hosts of a cluster, as root and without questions, for mpirun.

# Where root is at home when it comes by ssh: the folder of this machine is not the guest's to write.
SSH_HOME=/var/lib/ssh_home

# Usage: ssh_up KEY. KEY is a private key, and KEY.pub what belongs to it; all hosts have the same.
ssh_up() {
    pidof dropbear >/dev/null && return
    mkdir -p "$SSH_HOME/.ssh" /etc/dropbear
    chmod 700 "$SSH_HOME" "$SSH_HOME/.ssh"
    install -m 600 "$1.pub" "$SSH_HOME/.ssh/authorized_keys"
    sed -i "s|^\(root:[^:]*:0:0:[^:]*\):[^:]*:|\1:$SSH_HOME:|" /etc/passwd
    cat >/etc/ssh/ssh_config.d/softroce.conf <<END
Host node* 10.7.0.*
    IdentityFile $1
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
END
    dropbear -R -s
}
