//! The wrappers, as data: which of their words the command begins with.

use super::lists;
use crate::rules::{self, Rule};

/// A wrapper: its options that take a value, how many operands come before the command, what it is
/// besides.
pub(super) struct Wrapper {
    pub(super) names: &'static str,
    pub(super) valued: &'static str,
    pub(super) skip: usize,
    pub(super) rule: Option<&'static Rule>,
    /// Options whose value is shell code.
    pub(super) code: &'static [&'static str],
    /// Options whose value is the folder that the command runs in.
    pub(super) folder: &'static [&'static str],
    /// Options whose value is a file that is written.
    pub(super) writes: &'static [&'static str],
}

const PLAIN: Wrapper = Wrapper {
    names: "",
    valued: "",
    skip: 0,
    rule: None,
    code: &[],
    folder: &[],
    writes: &[],
};

pub(super) static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: "nohup setsid unbuffer catchsegv eatmydata chronic linux32 linux64 setarch arch noglob \
        nocorrect pkgx aoss padsp winpty coproc",
        ..PLAIN
    },
    Wrapper {
        names: "time gtime",
        valued: "f format o output",
        writes: &["o", "output"],
        ..PLAIN
    },
    // Each takes values in its own way: an option that is thought to take one swallows the command.
    Wrapper {
        names: "proxychains proxychains4",
        valued: "f",
        ..PLAIN
    },
    Wrapper {
        names: "torsocks torify",
        valued: "u user p pass a address P port",
        ..PLAIN
    },
    Wrapper {
        names: "dbus-run-session",
        valued: "config-file dbus-daemon",
        ..PLAIN
    },
    Wrapper {
        names: "fakeroot",
        valued: "l lib f faked s i b",
        writes: &["s"],
        ..PLAIN
    },
    Wrapper {
        names: "caffeinate",
        valued: "t w",
        ..PLAIN
    },
    Wrapper {
        names: "cgexec",
        valued: "g",
        ..PLAIN
    },
    Wrapper {
        names: "xvfb-run",
        valued: "e error-file f auth-file n server-num p xauth-protocol s server-args w wait",
        writes: &["e", "error-file", "f", "auth-file"],
        ..PLAIN
    },
    Wrapper {
        names: "rlwrap primusrun optirun",
        rule: Some(&rules::opaque::OPTION),
        ..PLAIN
    },
    Wrapper {
        names: "nice ionice cpulimit",
        valued: "n adjustment c class classdata p P l",
        ..PLAIN
    },
    Wrapper {
        names: "chrt",
        valued: "T sched-runtime P sched-period D sched-deadline",
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        names: "timeout gtimeout",
        valued: "k s kill-after signal",
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        names: "stdbuf",
        valued: "i o e input output error",
        ..PLAIN
    },
    Wrapper {
        names: "sudo",
        valued: "u user g group p prompt C close-from D chdir R chroot h host r role t type T command-timeout U other-user",
        rule: Some(&rules::privilege::RAISE),
        folder: &["D", "chdir"],
        ..PLAIN
    },
    Wrapper {
        names: "doas",
        valued: "u C a",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "pkexec gksudo kdesudo run0 sudo-rs please dzdo calife",
        valued: "u user",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "runuser",
        valued: "u user g group G supp-group c command s shell session-command w whitelist-environment",
        rule: Some(&rules::privilege::RAISE),
        code: &["c", "command", "session-command"],
        ..PLAIN
    },
    Wrapper {
        names: "setpriv capsh",
        valued: "reuid regid groups inh-caps ambient-caps bounding-set securebits pdeathsig",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "gosu su-exec",
        skip: 1,
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "chroot",
        valued: "userspec groups",
        skip: 1,
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "unshare nsenter bwrap firejail systemd-nspawn lxc-attach proot",
        valued: "t S G w r R bind",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "flock",
        valued: "w timeout E conflict-exit-code c command",
        skip: 1,
        code: &["c", "command"],
        ..PLAIN
    },
    Wrapper {
        names: "taskset",
        valued: "",
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        names: "numactl",
        valued: "i interleave p preferred P m membind N cpunodebind C physcpubind",
        ..PLAIN
    },
    Wrapper {
        names: "prlimit",
        valued: "p pid",
        ..PLAIN
    },
    Wrapper {
        names: "trickle",
        valued: "d u w t l L n",
        ..PLAIN
    },
    Wrapper {
        names: "choom",
        valued: "n adjust p pid",
        ..PLAIN
    },
    Wrapper {
        names: "strace",
        valued: "o output e p s a E S u O P I b X",
        writes: &["o", "output"],
        ..PLAIN
    },
    Wrapper {
        names: "ltrace",
        valued: "o output e p s a u x l n A D F w",
        writes: &["o", "output"],
        ..PLAIN
    },
    Wrapper {
        names: "valgrind perf-run hyperfine-none gdbserver rr",
        valued: "",
        rule: Some(&rules::opaque::PROGRAM),
        ..PLAIN
    },
    Wrapper {
        names: "systemd-run",
        valued: "u unit p property E setenv slice uid gid on-active on-boot on-calendar description",
        rule: Some(&rules::persistence::SERVICE),
        folder: &["working-directory"],
        ..PLAIN
    },
    Wrapper {
        names: "systemd-inhibit dbus-launch ssh-agent i3-msg",
        valued: "what who why mode a t",
        ..PLAIN
    },
    Wrapper {
        names: "direnv-exec op-run doppler chamber aws-vault envchain sops-exec dotenv",
        valued: "",
        rule: Some(&rules::opaque::OPTION),
        ..PLAIN
    },
    Wrapper {
        names: "entr inotifywait-run watchexec nodemon",
        valued: "e w i d exec x",
        rule: Some(&rules::opaque::INTERACTIVE),
        code: &["exec", "x"],
        ..PLAIN
    },
];

pub(super) fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| lists(wrapper.names, name))
}
