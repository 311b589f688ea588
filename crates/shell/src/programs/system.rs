//! Programs that change the machine: a table from program and words to rules.

use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::rules::{
    self, Rule, destructive, machine as state_of_machine, persistence, privilege, secret,
};
use crate::value::{Field, Out, Taint};

/// A row: programs, words of which one must be there (none: any call), the rule.
type Row = (&'static str, &'static str, Option<&'static Rule>);

/// The first row that fits speaks.
static ROWS: &[Row] = &[
    (
        "mkfs mke2fs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted partprobe blkdiscard \
        hdparm nvme badblocks mkdosfs cryptsetup mdadm lvcreate pvcreate vgcreate diskutil format \
        dban fsck e2fsck resize2fs tune2fs debugfs xfs_repair sdelete zerofree grub-install \
        efibootmgr flashrom fwupdmgr",
        "-l --list list print info --help -V get-devices",
        None,
    ),
    (
        "mkfs mke2fs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted partprobe blkdiscard \
        hdparm nvme badblocks mkdosfs cryptsetup mdadm lvcreate pvcreate vgcreate diskutil format \
        dban fsck e2fsck resize2fs tune2fs debugfs xfs_repair sdelete zerofree grub-install \
        efibootmgr flashrom fwupdmgr",
        "",
        Some(&destructive::FILESYSTEM),
    ),
    (
        "shutdown reboot poweroff halt telinit init pm-suspend systemd-sleep rtcwake",
        "",
        Some(&state_of_machine::POWER),
    ),
    ("crontab", "-l", Some(&rules::place::READ_OUTSIDE)),
    (
        "crontab at batch atrm anacron schtasks",
        "",
        Some(&persistence::TIMER),
    ),
    (
        "launchctl systemctl service rc-service initctl sv supervisorctl svc rcctl",
        "status is-active is-enabled is-failed list-units list-unit-files list-timers show cat \
        --version --status-all list list-jobs list-dependencies",
        None,
    ),
    (
        "systemctl launchctl",
        "reboot poweroff halt suspend hibernate kexec rescue emergency",
        Some(&state_of_machine::POWER),
    ),
    (
        "systemctl launchctl update-rc.d chkconfig rc-update",
        "enable disable mask link edit load unload bootstrap bootout submit defaults remove \
        set-property revert preset add del set-default off on",
        Some(&persistence::SERVICE_INSTALLED),
    ),
    (
        "systemctl service rc-service launchctl initctl sv supervisorctl svc update-rc.d chkconfig \
        rc-update pm2 forever rcctl invoke-rc.d",
        "",
        Some(&persistence::SERVICE),
    ),
    (
        "useradd userdel usermod adduser deluser groupadd groupdel groupmod addgroup delgroup \
        gpasswd passwd chpasswd chsh chfn visudo vipw vigr chage newusers pwconv dscl \
        loginctl-enable sudoedit net dpkg-statoverride update-alternatives faillock \
        pam-auth-update",
        "",
        Some(&privilege::ACCOUNT),
    ),
    (
        "insmod rmmod modprobe depmod kexec dkms bpftool bpftrace",
        "--version -n --show-depends",
        None,
    ),
    (
        "insmod rmmod modprobe depmod kexec dkms bpftool bpftrace",
        "",
        Some(&privilege::KERNEL),
    ),
    (
        "sysctl",
        "-w --write -p --load --system",
        Some(&privilege::KERNEL),
    ),
    ("sysctl", "", Some(&rules::place::READ_OUTSIDE)),
    ("mount", "-l", None),
    (
        "mount umount losetup swapon swapoff pivot_root switch_root fusermount kpartx \
        fuse-overlayfs udisksctl exportfs",
        "",
        Some(&privilege::MOUNT),
    ),
    (
        "iptables ip6tables nft ufw firewall-cmd iptables-restore ebtables ipset pfctl tc",
        "-L -S list status --list-all --state",
        None,
    ),
    (
        "iptables ip6tables nft ufw firewall-cmd iptables-restore ebtables ipset pfctl tc",
        "",
        Some(&privilege::FIREWALL),
    ),
    (
        "ip ifconfig route nmcli networksetup iw iwconfig resolvectl wg wg-quick brctl ethtool \
        hostnamectl netplan dhclient tailscale openvpn",
        "add del delete set flush up down replace change -setairportpower set-hostname apply off on \
        modify logout",
        Some(&privilege::FIREWALL),
    ),
    (
        "setenforce spctl csrutil apparmor_parser aa-disable aa-teardown aa-complain auditctl \
        semodule setsebool restorecon chcon tmutil Set-MpPreference xattr",
        "",
        Some(&privilege::SECURITY),
    ),
    ("setcap", "", Some(&privilege::SETUID)),
    (
        "timedatectl localectl hwclock locale-gen dpkg-reconfigure ldconfig update-ca-certificates \
        update-grub update-initramfs mandb updatedb scutil defaults gsettings dconf xrandr \
        setxkbmap xset loadkeys tzselect alternatives trust nvram pmset systemsetup powercfg reg \
        bcdedit",
        "status list get read -p show list-timezones --version",
        None,
    ),
    (
        "timedatectl localectl hwclock locale-gen dpkg-reconfigure ldconfig update-ca-certificates \
        update-grub update-initramfs mandb updatedb scutil defaults gsettings dconf xrandr \
        setxkbmap xset loadkeys tzselect alternatives trust nvram pmset systemsetup powercfg reg \
        bcdedit",
        "",
        Some(&state_of_machine::SETTINGS),
    ),
    ("hostname domainname", "-f -i -I -s -d -A", None),
    ("killall5", "", Some(&state_of_machine::SIGNAL_ALL)),
    (
        "pkill killall skill",
        "-u -U --user --euid --uid",
        Some(&state_of_machine::SIGNAL_ALL),
    ),
    (
        "pkill killall skill renice xkill snice fuser",
        "",
        Some(&state_of_machine::SIGNAL),
    ),
    ("printenv", "PATH HOME USER SHELL PWD LANG TERM", None),
    (
        "loginctl",
        "enable-linger disable-linger",
        Some(&persistence::TIMER),
    ),
    (
        "loginctl",
        "list-sessions list-users show-session session-status",
        None,
    ),
    ("loginctl", "", Some(&persistence::SERVICE)),
    ("btrfs", "delete wipe", Some(&destructive::FILESYSTEM)),
    ("btrfs", "", Some(&rules::opaque::PROGRAM)),
    ("influx", "delete", Some(&rules::remote::DATABASE_DESTROY)),
    ("printenv", "", Some(&secret::ENVIRONMENT)),
    (
        "security secret-tool kwallet-query keyring gnome-keyring cmdkey keychain credstash berglas \
        sops ansible-vault age keyctl lsassy mimikatz hashcat john gopass",
        "--version list-keychains -h",
        None,
    ),
    (
        "security secret-tool kwallet-query keyring gnome-keyring cmdkey keychain credstash berglas \
        sops ansible-vault age keyctl lsassy mimikatz hashcat john gopass",
        "",
        Some(&secret::STORE),
    ),
    (
        "xclip xsel pbpaste wl-paste import scrot screencapture gnome-screenshot maim grim arecord \
        ffmpeg-grab xdotool xinput evtest script-none osascript-none",
        "",
        Some(&rules::place::READ_OUTSIDE),
    ),
    (
        "dmesg journalctl last lastlog lastb ausearch coredumpctl lsof ss netstat who w users \
        dmidecode getent",
        "--vacuum-size --vacuum-time --rotate -C --clear -c -K --kill --flush shadow",
        Some(&destructive::OUTSIDE),
    ),
    (
        "dmesg journalctl last lastlog lastb ausearch coredumpctl dmidecode",
        "",
        Some(&rules::place::READ_OUTSIDE),
    ),
    (
        "gcore ptrace reptyr crash perf sysdig criu",
        "",
        Some(&rules::opaque::PROGRAM),
    ),
    (
        "logrotate tmpreaper tmpwatch bleachbit deborphan rkhunter wine qemu-system-x86_64 \
        VBoxManage",
        "",
        Some(&rules::opaque::PROGRAM),
    ),
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    match name {
        "kill" => Some(kill),
        "ip" => Some(ip),
        "gpg" | "gpg2" => Some(gpg),
        "ssh-keygen" | "ssh-add" => Some(keys),
        _ if name.starts_with("mkfs") => Some(table),
        _ => ROWS
            .iter()
            .any(|(names, ..)| lists(names, name))
            .then_some(table as Handler),
    }
}

fn table(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let name = if call.name.starts_with("mkfs") {
        "mkfs"
    } else {
        call.name
    };
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    // A variable whose name says nothing of credentials, as `echo $NAME` is.
    let is_plain = |arg: &Field| {
        arg.known().is_some_and(|word| {
            !word.starts_with('-') && !crate::machine::named(&word).has(Taint::NAMED)
        })
    };
    if name == "printenv" && !call.args.is_empty() && call.args.iter().all(is_plain) {
        return Out::Unknown(Taint::NONE);
    }
    let row = ROWS.iter().find(|(names, wanted, _)| {
        lists(names, name)
            && (wanted.is_empty()
                || words
                    .iter()
                    .any(|word| lists(wanted, word.split('=').next().unwrap_or_default())))
    });
    if let Some((.., Some(rule))) = row
        && !(matches!(name, "mount" | "hostname" | "fuser") && call.args.is_empty())
    {
        machine.act(rule);
    }
    if name == "hostname" && row.is_none() && call.args.len() == 1 {
        machine.act(&state_of_machine::SETTINGS);
    }
    if matches!(name, "printenv") && row.is_some_and(|(.., rule)| rule.is_some()) {
        return Out::Unknown(Taint::SECRET);
    }
    if let Some(Out::Known(text)) = state.input.clone()
        && matches!(name, "crontab" | "at" | "batch")
    {
        machine.suspect(&text, state);
    }
    Out::Unknown(Taint::NONE)
}

/// `ip netns exec` and `ip vrf exec` run a command, and a batch is more of its own; the rest is in the table.
fn ip(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    let begins = |word: &Field, full: &str| {
        word.known()
            .is_some_and(|text| !text.is_empty() && full.starts_with(text.as_ref()))
    };
    let batch = |arg: &Field| arg.prefix() == "-b" || arg.prefix().starts_with("-ba");
    if call.args.iter().any(batch) {
        machine.act(&rules::opaque::OPTION);
    }
    let object = call
        .args
        .iter()
        .position(|arg| begins(arg, "netns") || begins(arg, "vrf"));
    if let Some(at) = object
        && call
            .args
            .get(at + 1)
            .is_some_and(|verb| begins(verb, "exec"))
    {
        machine.act(&privilege::RAISE);
        if let Some(command) = call
            .args
            .get(at + 3..)
            .filter(|command| !command.is_empty())
        {
            return machine.call(command, &mut state.clone());
        }
    }
    table(machine, call, state)
}

fn kill(machine: &mut Machine<'_>, call: &Call<'_>, _: &mut State) -> Out {
    machine.ran(call.name);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let mut targets = Vec::new();
    let mut signal = false;
    let mut skip = false;
    // Jobs of the line's own: `%1`, `$!`.
    let mut own = true;
    for (word, arg) in words.iter().zip(call.args) {
        if std::mem::take(&mut skip) {
            continue;
        }
        match word.as_str() {
            "-l" | "-L" | "--list" => return Out::Unknown(Taint::NONE),
            "-s" | "-n" | "--signal" => {
                signal = true;
                skip = true;
            }
            "--" => signal = true,
            text if text.starts_with('-') && !signal && text != "-1" => signal = true,
            text if text == "-1" && !signal && words.len() > 1 => signal = true,
            text => {
                own &= text.starts_with('%') || arg.taint().has(Taint::JOB) && text == "…";
                targets.push(text);
            }
        }
    }
    let all = targets
        .iter()
        .any(|target| matches!(*target, "-1" | "1" | "0" | "-0"));
    if own && !targets.is_empty() {
        return Out::Unknown(Taint::NONE);
    }
    machine.act(if all {
        &state_of_machine::SIGNAL_ALL
    } else {
        &state_of_machine::SIGNAL
    });
    Out::Unknown(Taint::NONE)
}

fn gpg(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let has = |names: &[&str]| {
        words
            .iter()
            .any(|word| names.iter().any(|name| word.starts_with(name)))
    };
    if has(&["--export-secret", "--export-ssh"]) {
        machine.act(&secret::STORE);
    } else if has(&[
        "--delete",
        "--import",
        "--edit",
        "--quick",
        "--gen",
        "--full-gen",
    ]) {
        machine.act(&persistence::CONFIGURATION);
    } else if has(&["--recv", "--send", "--search", "--refresh", "--keyserver"]) {
        machine.network(None);
    } else if !has(&[
        "--list",
        "-k",
        "-K",
        "--version",
        "--verify",
        "--fingerprint",
    ]) {
        machine.act(&secret::PRINTED);
    }
    for (at, word) in words.iter().enumerate() {
        let runs = [
            "--photo-viewer",
            "--exec-path",
            "--agent-program",
            "--dirmngr-program",
            "--keyserver-options",
        ];
        if let Some(option) = runs.iter().find(|option| word.starts_with(*option)) {
            machine.act(&rules::opaque::OPTION);
            let code = match word
                .strip_prefix(option)
                .and_then(|rest| rest.strip_prefix('='))
            {
                Some(value) => value.to_owned(),
                None => words.get(at + 1).cloned().unwrap_or_default(),
            };
            machine.suspect(&code, state);
        }
        if matches!(word.as_str(), "-o" | "--output")
            && let Some(file) = call.args.get(at + 1)
        {
            machine.path(Role::Write, file, state);
        }
    }
    Out::Unknown(Taint::NONE)
}

fn keys(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    if has(&["-l", "-L", "-lf"]) {
        return Out::Unknown(Taint::NONE);
    }
    let file = words
        .iter()
        .position(|word| word == "-f")
        .and_then(|at| call.args.get(at + 1));
    match file {
        Some(file) => {
            machine.path(
                if has(&["-y"]) {
                    Role::Read
                } else {
                    Role::Write
                },
                file,
                state,
            );
        }
        None => machine.act(&persistence::STARTUP),
    }
    if has(&["-D", "-s", "-e"]) {
        machine.act(&rules::opaque::OPTION);
    }
    Out::Unknown(Taint::NONE)
}
