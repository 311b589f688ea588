//! What a command may use, and how a person ends it.

use std::os::unix::process::ExitStatusExt as _;

use deputize_testkit::{Size, Terminal, processes_naming};

use crate::scene::{scene, shell};

const SCREEN: Size = Size {
    columns: 80,
    rows: 24,
};

/// B12: memory above the limit ends the command, and the message says that and names what it held.
#[test]
fn a_command_that_holds_too_much_memory_is_ended_and_told_so() {
    let env = scene();
    // Each doubling holds the string in memory; the shell needs no other program for it.
    let hog = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; [ ${#x} -gt 200000000 ] && { while :; do :; done; }; done";
    let outcome = shell(&env, &["--limit", "memory=64m"], hog).expect_code(137);
    assert!(
        outcome
            .err()
            .contains("MiB of memory, more than its limit, and was ended"),
        "{outcome}"
    );
    // The same limit leaves a modest command alone.
    let _ = shell(&env, &["--limit", "memory=64m"], "true").expect_code(0);
}

/// B2: the number of processes is limited: a loop that forks stops below 500.
#[test]
fn a_loop_that_forks_is_stopped() {
    let env = scene();
    let script = "i=0; while [ $i -lt 600 ]; do (sleep 60) 2>/dev/null & i=$((i+1)); done 2>/dev/null; \
                  ls /proc | grep -c '^[0-9]'";
    let outcome = shell(&env, &[], script);
    // The shell may fail to fork for the last line; the one that counts is then not there.
    if let Some(count) = outcome.out().lines().next() {
        let count: u32 = count.trim().parse().unwrap();
        assert!(count < 500, "{count} processes\n{outcome}");
    } else {
        assert!(outcome.code() != Some(0), "{outcome}");
    }
    assert!(!outcome.streams_held);
}

/// B2: a runaway writer is stopped, and /tmp is of limited size.
#[test]
fn a_runaway_writer_is_stopped() {
    let env = scene();
    let outcome = shell(&env, &["--write", "."], "ulimit -c; ulimit -f");
    assert_eq!(outcome.out().lines().next(), Some("0"), "{outcome}");
    // In blocks of 512 bytes: below 1 GiB.
    let blocks: u64 = outcome.out().lines().nth(1).unwrap().parse().unwrap();
    assert!(blocks * 512 < 1 << 30, "{outcome}");
}

/// B5: Ctrl-C on a terminal ends the command, and its children with it.
#[test]
fn ctrl_c_on_a_terminal_ends_the_command() {
    let env = scene();
    let mark = format!("54322.{}", std::process::id());
    let script = format!("sleep {mark} & sleep {mark} & echo ready; wait; echo on");
    let command = env.call(["exec", "--", "sh", "-c", &script]).into_command();
    let mut terminal = Terminal::start(command, SCREEN);
    terminal.until_shown("ready").interrupt();
    let status = terminal.wait();
    assert_eq!(
        (status.code(), status.signal()),
        (Some(130), None),
        "{}",
        terminal.screen()
    );
    assert_eq!(processes_naming(&mark), [0; 0]);
}

/// B5: a second Ctrl-C ends a command that ignores the first.
#[test]
fn a_second_ctrl_c_ends_what_ignores_the_first() {
    let env = scene();
    let script = "trap 'echo heard' INT; echo ready; while :; do sleep 0.05; done";
    let command = env.call(["exec", "--", "sh", "-c", script]).into_command();
    let mut terminal = Terminal::start(command, SCREEN);
    terminal.until_shown("ready").interrupt();
    terminal.until_shown("heard").interrupt();
    assert_eq!(terminal.wait().code(), Some(137), "{}", terminal.screen());
}

/// B8: the command sees the person's terminal, but can't type into it.
#[test]
fn a_command_sees_the_terminal_and_can_not_type_into_it() {
    let env = scene();
    let script = "test -t 0 && test -t 1 && stty size";
    let command = env.call(["exec", "--", "sh", "-c", script]).into_command();
    let mut terminal = Terminal::start(command, SCREEN);
    let status = terminal.wait();
    assert!(status.success(), "{}", terminal.screen());
    assert_eq!(terminal.screen().trim(), "24 80");
    if std::path::Path::new("/usr/bin/python3").exists() {
        let inject = "import fcntl, termios\nfor c in 'echo pwned\\n': fcntl.ioctl(0, termios.TIOCSTI, c.encode())";
        let command = env
            .call(["exec", "--", "/usr/bin/python3", "-c", inject])
            .into_command();
        let mut terminal = Terminal::start(command, SCREEN);
        assert_ne!(terminal.wait().code(), Some(0), "{}", terminal.screen());
    }
}
