//! What a command in a boundary can't reach: files, processes, the network, and rights.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use deputize_testkit::{processes_naming, until};

use crate::scene::{project, scene, shell};

/// Python of the system, where there is one: a shell's own limits are not the boundary's.
const PYTHON: &str = "/usr/bin/python3";

fn has_python() -> bool {
    let there = std::path::Path::new(PYTHON).exists();
    if !there {
        println!("there is no {PYTHON}: the interpreter's part is left out");
    }
    there
}

/// B1: a read-only command can't write, neither from a shell nor from an interpreter, in any way that
/// a file can be changed.
#[test]
fn a_read_only_command_can_not_write() {
    let env = project();
    let tries = [
        "echo x > new",
        "echo x >> README.md",
        "mkdir new",
        "rm README.md",
        "mv README.md new",
        "ln README.md new",
        "ln -s README.md new",
        "chmod 777 README.md",
        "touch README.md",
        "truncate -s 0 README.md",
        "mkfifo new",
        "cp README.md new",
    ];
    for script in tries {
        let outcome = shell(&env, &[], script);
        assert!(
            outcome.code().is_some_and(|code| (1..125).contains(&code)),
            "{script}: {outcome}"
        );
    }
    if has_python() {
        let script = "import os\n\
            for attempt in [lambda: open('new', 'w'), lambda: os.truncate('README.md', 0),\n\
                            lambda: os.open('README.md', os.O_RDWR), lambda: os.utime('README.md'),\n\
                            lambda: os.setxattr('README.md', 'user.x', b'1'), lambda: os.mkdir('new')]:\n\
            \ttry:\n\t\tattempt()\n\t\tprint('wrote')\n\texcept OSError as error:\n\t\tprint(error.errno)\n";
        let outcome = env.run(["exec", "--", PYTHON, "-c", script]).expect_code(0);
        assert!(!outcome.out().contains("wrote"), "{outcome}");
        assert_eq!(outcome.out().lines().count(), 6, "{outcome}");
    }
    let left = fs::read_to_string(env.workspace().join("README.md")).unwrap();
    assert!(left.starts_with("# Parcel"));
    assert!(!env.workspace().join("new").exists());
}

/// S10, B2: HOME is private, empty and writable; nothing of the person's own home is there.
#[test]
fn home_is_private_and_empty() {
    let env = project();
    fs::write(env.home().join("mine.txt"), "mine").unwrap();
    fs::create_dir_all(env.home().join(".config/tool")).unwrap();
    env.give();
    let home = env.home();
    let script = "ls -A ~; cat ~/mine.txt; echo new > ~/new && cat ~/new; echo $HOME";
    let outcome = shell(&env, &[], script).expect_code(0);
    assert_eq!(
        outcome.out(),
        format!("new\n{}\n", home.display()),
        "{outcome}"
    );
    assert!(!home.join("new").exists());
}

/// B2: outside the workspace there is a system to run programs with, and nothing else.
#[test]
fn the_view_holds_the_system_and_the_workspace_alone() {
    let env = project();
    let outcome = shell(&env, &[], "ls -A /").expect_code(0);
    for name in ["root", "home", "srv", "mnt", "run", "sys", "boot", "media"] {
        assert!(
            !outcome.out().lines().any(|line| line == name),
            "{name} in {outcome}"
        );
    }
    let outcome = shell(
        &env,
        &[],
        "ls -A /sys /root /var/log /run; echo; ls -A /tmp /var/tmp; ls /dev",
    )
    .expect_code(0);
    let devices: Vec<&str> = outcome
        .out()
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    for device in ["null", "zero", "urandom", "tty"] {
        assert!(devices.contains(&device), "{device} in {outcome}");
    }
    for device in ["sda", "mem", "kmsg", "fuse", "kvm", "mapper", "loop0"] {
        assert!(!devices.contains(&device), "{device} in {outcome}");
    }
    // The private /tmp works and is gone afterwards.
    let name = format!("deputize-e2e-{}", std::process::id());
    let outcome = shell(
        &env,
        &[],
        &format!("echo x > /tmp/{name} && cat /tmp/{name}"),
    )
    .expect_code(0);
    assert_eq!(outcome.out(), "x\n");
    assert!(!std::path::Path::new("/tmp").join(name).exists());
}

/// B2: /proc is the command's own, and what it would change of the kernel can't be written.
#[test]
fn proc_is_fresh_and_the_kernels_settings_are_read_only() {
    let env = scene();
    let script = "cat /proc/sys/kernel/ostype; echo x > /proc/sys/kernel/hostname; \
                  echo 1 > /proc/sys/vm/drop_caches; echo b > /proc/sysrq-trigger; \
                  ls /proc | grep -c '^[0-9]'";
    let outcome = shell(&env, &[], script).expect_code(0);
    let lines: Vec<&str> = outcome.out().lines().collect();
    assert_eq!(lines[0], "Linux");
    let count: u32 = lines[1].parse().unwrap();
    assert!(count < 10, "{count} processes are seen\n{outcome}");
    assert_eq!(
        outcome
            .err()
            .lines()
            .filter(|line| line.contains("denied")
                || line.contains("Read-only")
                || line.contains("nonexistent")
                || line.contains("No such"))
            .count(),
        3,
        "{outcome}"
    );
}

/// B2, B5: processes of the host are neither seen nor signalled.
#[test]
fn processes_of_the_host_are_out_of_reach() {
    let env = scene();
    let id = std::process::id();
    let script =
        format!("cat /proc/{id}/cmdline; kill -0 {id} && echo reached; kill -9 -1; echo no");
    let outcome = shell(&env, &[], &script);
    assert!(!outcome.out().contains("reached"), "{outcome}");
    // We are still here.
    let outcome = shell(&env, &[], "kill -0 1; echo $?; kill -0 $PPID; echo $?").expect_code(0);
    assert_eq!(outcome.out().lines().count(), 2);
}

/// B2, N1: no listener of the host is reached: not on loopback, not by a socket file in the workspace.
#[test]
fn no_listener_of_the_host_is_reached() {
    let env = project();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = env.workspace().join("socket");
    let unix = UnixListener::bind(&socket).unwrap();
    unix.set_nonblocking(true).unwrap();
    env.give();
    if !has_python() {
        return;
    }
    let script = format!(
        "import socket\n\
         def attempt(family, kind, address, protocol=0):\n\
         \ttry:\n\t\ts = socket.socket(family, kind, protocol)\n\t\ts.settimeout(2)\n\t\ts.connect(address)\n\t\tprint('reached', address)\n\
         \texcept OSError as error:\n\t\tprint('no')\n\
         attempt(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {port}))\n\
         attempt(socket.AF_INET6, socket.SOCK_STREAM, ('::1', {port}))\n\
         attempt(socket.AF_INET, socket.SOCK_STREAM, ('192.0.2.1', 80))\n\
         attempt(socket.AF_INET, socket.SOCK_DGRAM, ('192.0.2.1', 53))\n\
         attempt(socket.AF_UNIX, socket.SOCK_STREAM, 'socket')\n\
         attempt(socket.AF_UNIX, socket.SOCK_STREAM, '/run/dbus/system_bus_socket')\n\
         attempt(socket.AF_INET, socket.SOCK_RAW, ('127.0.0.1', 1), 1)\n\
         attempt(socket.AF_NETLINK, socket.SOCK_RAW, (0, 0), 16)\n"
    );
    let outcome = env
        .run(["exec", "--write", ".", "--", PYTHON, "-c", &script])
        .expect_code(0);
    let reached: Vec<&str> = outcome
        .out()
        .lines()
        .filter(|line| line.starts_with("reached"))
        .collect();
    // A datagram socket connects without sending; nothing can be sent without a route.
    assert!(
        reached.iter().all(|line| line.contains("192.0.2.1', 53")),
        "{outcome}"
    );
    assert_eq!(
        listener.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    assert_eq!(
        unix.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
}

/// B2: what runs is never the kernel's root and has no capability, and none can be had again.
#[test]
fn the_payload_is_nobody_special() {
    let env = project();
    let script = "grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp):' /proc/self/status; cat /proc/self/uid_map; \
                  unshare -Ur true && echo escaped; unshare -m true && echo escaped; mount -t tmpfs x /tmp && echo escaped; \
                  chroot / true && echo escaped; true";
    let outcome = shell(&env, &[], script).expect_code(0);
    let text = outcome.out();
    assert!(!text.contains("escaped"), "{outcome}");
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().skip(1).collect()
    };
    assert!(
        !row("Uid:").contains(&"0") && !row("Gid:").contains(&"0"),
        "{text}"
    );
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(row(set), ["0000000000000000"], "{text}");
    }
    assert_eq!(row("NoNewPrivs:"), ["1"]);
    assert_eq!(row("Seccomp:"), ["2"]);
    // Outside, too, it is not uid 0: the map leads to another id, as a file that is written shows.
    let map = text.lines().last().unwrap();
    let outside = map.split_whitespace().nth(1).unwrap();
    assert_ne!(outside, "0", "{map}");
}

/// B2: system calls that a build never needs and an attacker always does are refused.
#[test]
fn dangerous_system_calls_are_refused() {
    if !has_python() {
        return;
    }
    let env = scene();
    // bpf, keyctl, add_key, perf_event_open, userfaultfd, io_uring_setup, kexec_load,
    // init_module, open_by_handle_at, process_vm_readv, pivot_root, setns, TIOCSTI below.
    let script = "import ctypes, errno, sys, platform\n\
        if platform.machine() != 'x86_64': sys.exit('no numbers for this machine')\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        numbers = {'bpf': 321, 'keyctl': 250, 'add_key': 248, 'perf_event_open': 298,\n\
        'userfaultfd': 323, 'io_uring_setup': 425, 'kexec_load': 246, 'init_module': 175,\n\
        'open_by_handle_at': 304, 'process_vm_readv': 310, 'pivot_root': 155, 'setns': 308,\n\
        'mount': 165, 'unshare': 272, 'quotactl': 179, 'swapon': 167, 'settimeofday': 164}\n\
        for name, number in numbers.items():\n\
        \tctypes.set_errno(0)\n\
        \tresult = libc.syscall(number, 0x10000000, 0, 0, 0, 0)\n\
        \tif result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):\n\
        \t\tprint(name, result, ctypes.get_errno())\n";
    let outcome = env.run(["exec", "--", PYTHON, "-c", script]);
    if outcome.err().contains("no numbers") {
        println!("another machine's numbers are not known here");
        return;
    }
    assert_eq!((outcome.code(), outcome.out()), (Some(0), ""), "{outcome}");
}

/// B5: whatever a command leaves behind ends with it: background, nohup, setsid and double fork.
#[test]
fn nothing_outlives_the_command() {
    let env = project();
    let mark = format!("54321.{}", std::process::id());
    let script = format!(
        "beat() {{ while :; do date +%N >> $1; sleep 0.02; done; }}\n\
         (beat a) & \n\
         (trap '' TERM HUP INT; beat b) & \n\
         (setsid sh -c 'while :; do date +%N >> c; sleep 0.02; done' & ) & \n\
         nohup sleep {mark} > /dev/null 2>&1 & \n\
         (setsid setsid sleep {mark} &) \n\
         while [ ! -s a ] || [ ! -s b ] || [ ! -s c ]; do sleep 0.01; done"
    );
    let outcome = shell(&env, &["--write", "."], &script).expect_code(0);
    assert!(!outcome.streams_held, "something held the streams");
    assert_eq!(processes_naming(&mark), [0; 0]);
    // A heart that still beat would show within this many beats; none does.
    let sizes =
        || ["a", "b", "c"].map(|name| fs::metadata(env.workspace().join(name)).unwrap().len());
    let before = sizes();
    let started = std::time::Instant::now();
    until("ten beats of time have passed", || {
        assert_eq!(sizes(), before);
        (started.elapsed() > std::time::Duration::from_millis(250)).then_some(())
    });
}

/// B5: what a command forks after its parent exits can't hold the caller up.
#[test]
fn a_grandchild_that_holds_the_output_delays_nothing() {
    let env = scene();
    let started = std::time::Instant::now();
    let outcome = shell(&env, &[], "sleep 300 & echo done").expect_code(0);
    assert_eq!(outcome.out(), "done\n");
    assert!(started.elapsed() < std::time::Duration::from_secs(30));
}
