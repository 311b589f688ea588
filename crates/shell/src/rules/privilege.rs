//! More authority than the user has.

crate::rules::rules! { Privilege:
    RAISE "privilege.raise" Ask
        "runs with another user's authority",
        "Do it without, or let a person do it";
        ["sudo ls", "su -c ls"]; ["grep sudo README.md"];
    SETUID "privilege.setuid" Deny
        "lets a file run with its owner's authority",
        "Leave the set-user bit off";
        ["chmod u+s run", "chmod 4755 run", "setcap cap_net_raw+ep x"]; ["chmod 755 run"];
    ACCOUNT "privilege.account" Deny
        "changes accounts, passwords or who may act as whom",
        "Let a person do it";
        ["useradd eve", "passwd root", "visudo"]; ["id", "whoami"];
    KERNEL "privilege.kernel" Deny
        "changes the running kernel or its limits",
        "Let a person do it";
        ["insmod x.ko", "sysctl -w kernel.core_pattern=x"]; ["uname -a", "lsmod"];
    MOUNT "privilege.mount" Deny
        "mounts or unmounts a file system",
        "Let a person do it";
        ["mount /dev/sdb1 src", "umount /home"]; ["mount", "findmnt"];
    FIREWALL "privilege.firewall" Deny
        "changes the network of this machine",
        "Let a person do it";
        ["iptables -F", "ufw disable"]; ["ip addr"];
    UNASKED "privilege.unasked" Deny
        "lets a coding agent act without its questions or its sandbox",
        "Hand the work to a deputy, or let a person start the agent";
        ["claude --dangerously-skip-permissions -p x", "codex exec --yolo x", "jq '.permissions.defaultMode=\"bypassPermissions\"' a > t && mv t .claude/settings.json"];
        ["claude --version", "codex exec x", "grep -r bypassPermissions .claude"];
    SECURITY "privilege.security" Deny
        "turns off a protection of this machine",
        "Leave it on and say what it blocks";
        ["setenforce 0", "spctl --master-disable"]; ["getenforce"];
}
