//! Commands on a terminal.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use deputize_testkit::{Size, Terminal};

fn shell(script: &str, columns: u16) -> Terminal {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Terminal::start(command, Size { columns, rows: 10 })
}

#[test]
fn a_command_sees_a_terminal_of_the_size_that_was_asked_for() {
    let mut terminal = shell("test -t 0 && test -t 1 && test -t 2 && stty size", 20);
    assert!(terminal.wait().success());
    assert_eq!(terminal.screen().trim(), "10 20");
}

#[test]
fn the_screen_wraps_and_obeys_what_a_terminal_obeys() {
    let mut terminal = shell("printf 'one\\rtwo\\n0123456789abcdefghijKL'", 20);
    terminal.wait();
    assert_eq!(terminal.screen(), "two\n0123456789abcdefghijKL");
    assert!(terminal.raw().starts_with(b"one\rtwo\r\n"));
    let mut terminal = shell("printf 'gone\\033[2J\\033[Hclean'", 20);
    terminal.wait();
    assert_eq!(terminal.screen(), "clean");
}

#[test]
fn ctrl_c_interrupts() {
    let mut terminal = shell("echo ready; exec cat", 80);
    terminal.until_shown("ready").interrupt();
    let status = terminal.wait();
    assert_eq!(status.signal(), Some(2));
}

#[test]
fn what_is_typed_is_read_and_a_new_size_is_noticed() {
    let script = "trap 'stty size' WINCH; read line; echo got $line; \
                  while :; do sleep 0.05; done";
    let mut terminal = shell(script, 80);
    terminal.press(b"hello\r");
    terminal.until_shown("got hello");
    terminal.resize(Size {
        columns: 33,
        rows: 7,
    });
    terminal.until_shown("7 33");
}
