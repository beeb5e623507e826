#!/bin/sh
# Run a command in a user-mode Linux (Debian's package user-mode-linux), whose cgroups of version 2 have
# all controllers: tools/uml.sh .venv/bin/python -m pytest tests/krond/test_cgroups.py
# It has this host's files, which it may change as its user, and root's rights inside.
set -eu
here=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$here"' EXIT
cat > "$here/init" <<INIT
#!/bin/sh
export PATH='$PATH' HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo '+cpu +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
ip link set lo up 2> /dev/null
cd '$PWD'
"\$@"
echo \$? > '$here/code'
INIT
{
    echo '#!/bin/sh'
    printf "sh '%s/init'" "$here"
    printf " '%s'" "$@"
    echo
    echo 'exec python3 -c "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"'
} > "$here/start"
chmod +x "$here/start"
"${UML:-linux.uml}" mem=1G rootfstype=hostfs rw quiet init="$here/start" uml_dir="$here" \
    con=null con0=null,fd:1 < /dev/null
exit "$(cat "$here/code")"
