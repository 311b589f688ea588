//! `deputize completions`: scripts that the shells can read (H1).

use std::process::Stdio;

use crate::scene::scene;

#[test]
fn each_shell_gets_a_script() {
    let env = scene();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = env.run(["completions", shell]).expect_code(0);
        assert_eq!(outcome.err(), "");
        for word in ["doctor", "dry-run", "explain"] {
            assert!(
                outcome.out().contains(word),
                "{shell} knows nothing of {word}"
            );
        }
    }
    let outcome = env.run(["completions", "cmd"]).expect_code(2);
    assert!(outcome.err().contains("possible values"), "{outcome}");
}

/// The script is one that bash takes, and it completes a command's name.
#[test]
fn bash_takes_its_script_and_completes() {
    let env = scene();
    let script = env.run(["completions", "bash"]).expect_code(0);
    let ask = "eval \"$(cat)\"; COMP_WORDS=(deputize exp); COMP_CWORD=1; _deputize deputize exp deputize; echo \"${COMPREPLY[@]}\"";
    let mut bash = env.command("bash");
    let child = bash
        .args(["-c", ask])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("there is no bash");
        return;
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &script.stdout).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "explain");
}

/// A reader that goes away is no failure worth a word.
#[test]
fn a_closed_pipe_is_quiet() {
    let env = scene();
    let mut command = env.command(env!("CARGO_BIN_EXE_deputize"));
    let mut child = command
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
