//! The system's keyring, through `secret-tool`, the program of libsecret.
//!
//! A key travels through pipes, never as an argument. Whoever has no such program, or no keyring that
//! it reaches, keeps keys in the file (`docs/design/003-models.md` has the reasons).

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::limits::KEY_BYTES;

/// The program.
const PROGRAM: &str = "secret-tool";

/// What a key is found by, beside its account.
const SERVICE: &str = "deputize";

/// How long a keyring may take: a person may have to unlock it.
const UNLOCK: Duration = Duration::from_secs(60);

/// How often is looked whether it is done.
const LOOK: Duration = Duration::from_millis(5);

/// Stores a key. The error says why there is no keyring to store it in.
pub(crate) fn store(account: &str, key: &str) -> Result<(), String> {
    let label = format!("--label=Deputize: {account}");
    let arguments = ["store", &label, "service", SERVICE, "account", account];
    run(&arguments, key.as_bytes()).map(drop)
}

/// Looks a key up; `None` where the keyring has none.
pub(crate) fn lookup(account: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
    let arguments = ["lookup", "service", SERVICE, "account", account];
    let found = run(&arguments, b"")?;
    Ok((!found.is_empty()).then_some(found))
}

/// Removes a key.
pub(crate) fn clear(account: &str) -> Result<(), String> {
    run(&["clear", "service", SERVICE, "account", account], b"").map(drop)
}

fn run(arguments: &[&str], input: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{PROGRAM}` can't be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ended early says so by its status.
        let _ = stdin.write_all(input);
    }
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < UNLOCK => std::thread::sleep(LOOK),
            Ok(None) => {
                // It is ours, and it hangs.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = UNLOCK.as_secs();
                return Err(format!("the keyring doesn't answer within {seconds} s"));
            }
            Err(error) => return Err(format!("`{PROGRAM}` can't be waited for: {error}")),
        }
    };
    let mut output = Zeroizing::new(Vec::new());
    if let Some(stdout) = child.stdout.take() {
        let most = u64::try_from(KEY_BYTES).unwrap_or(u64::MAX);
        stdout
            .take(most.saturating_add(2))
            .read_to_end(&mut output)
            .map_err(|error| format!("`{PROGRAM}` can't be read: {error}"))?;
    }
    // What it looks for and doesn't find makes it fail without a word.
    if status.success() || arguments.first() == Some(&"lookup") && output.is_empty() {
        Ok(output)
    } else {
        Err(format!("`{PROGRAM}` failed: {status}"))
    }
}
