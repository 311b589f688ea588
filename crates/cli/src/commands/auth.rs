//! `deputize auth`: keys of models' providers. A key goes in and never comes out.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use deputize_authority::{Refusal, escape};
use deputize_boundary::harden_supervisor;
use deputize_egress::limits::KEY_BYTES;
use deputize_egress::{KeyPlace, KeyStore, StoreError, Wanted};
use deputize_model::KeySource;
use deputize_runs::{Look, ModelSettings, RunError};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::{Value, json};

use crate::args::{Auth, AuthCommand};
use crate::failure::{self, Voice, usage};
use crate::output::{error_line, print, print_json};
use crate::request::look_around;

pub(crate) fn main(args: &Auth) -> ExitCode {
    let (done, voice) = match &args.command {
        AuthCommand::Set {
            provider,
            file,
            json,
        } => {
            let wanted = if *file {
                Wanted::File
            } else {
                Wanted::KeyringFirst
            };
            (set(provider, wanted, Voice::of(*json)), Voice::of(*json))
        }
        AuthCommand::List { json } => (list(Voice::of(*json)), Voice::of(*json)),
        AuthCommand::Remove { provider, json } => {
            (remove(provider, Voice::of(*json)), Voice::of(*json))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, voice),
    }
}

/// Where keys are stored, and what is known about providers.
struct Place {
    look: Look,
    settings: ModelSettings,
    store: KeyStore,
}

impl Place {
    fn here() -> Result<Self, RunError> {
        let look = look_around()?;
        let settings = ModelSettings::read(&look)?;
        let folder = look.configuration().ok_or_else(|| {
            Refusal::new(
                "configuration_unknown",
                "HOME",
                "no folder is known that holds this user's configuration",
                "set HOME or XDG_CONFIG_HOME to a folder of this user",
            )
        })?;
        Ok(Self {
            look,
            settings,
            store: KeyStore::below(folder),
        })
    }

    /// The name that a provider's key is stored under.
    fn account(&self, provider: &str) -> Result<String, RunError> {
        let variable = |name: &str| self.look.variable(name);
        Ok(self.settings.with(&variable).account(provider)?)
    }

    fn accounts(&self) -> Vec<KeySource> {
        let variable = |name: &str| self.look.variable(name);
        self.settings.with(&variable).accounts()
    }
}

fn set(provider: &str, wanted: Wanted, voice: Voice) -> Result<(), RunError> {
    // From here on this process holds a key.
    harden_supervisor()?;
    let place = Place::here()?;
    let account = place.account(provider)?;
    let mut key = read_key(&account)?;
    let stored = place.store.set(&account, &key, wanted);
    key.fill(0);
    let (lies, refused) = stored.map_err(|error| store_failed(&error))?;
    match voice {
        Voice::Json => print_json(&json!({
            "provider": account, "place": lies, "keyring": refused.is_none().then_some("used").or(refused.as_deref()),
        })),
        Voice::Words => {
            if let Some(why) = refused {
                error_line(&format!("No keyring could be used: {}.", escape(&why)));
            }
            print(&match lies {
                KeyPlace::File => format!(
                    "The key of {account} is stored in the file {}, which only you can read.\n",
                    escape(&place.store.path().to_string_lossy())
                ),
                KeyPlace::Keyring | KeyPlace::Environment(_) => {
                    format!("The key of {account} is stored in the system's keyring.\n")
                }
            });
        }
    }
    Ok(())
}

fn list(voice: Voice) -> Result<(), RunError> {
    let place = Place::here()?;
    let stored = place
        .store
        .accounts()
        .map_err(|error| store_failed(&error))?;
    let rows: Vec<(KeySource, Option<KeyPlace>)> = place
        .accounts()
        .into_iter()
        .map(|source| {
            let lies = lies(&source, &place.look, &stored);
            (source, lies)
        })
        .collect();
    if voice == Voice::Json {
        let keys: Vec<Value> = rows
            .iter()
            .map(|(source, place)| {
                json!({ "provider": source.account, "place": place, "variables": source.variables })
            })
            .collect();
        print_json(&json!({ "keys": keys }));
        return Ok(());
    }
    for (source, lies) in rows {
        let lies = lies.map_or("none".to_owned(), |lies| lies.to_string());
        print(&format!(
            "{:<12} {}\n",
            escape(&source.account),
            escape(&lies)
        ));
    }
    Ok(())
}

/// Where a relay would find a key: a variable comes before what is stored. Whether one is set is all
/// that is looked at.
fn lies(source: &KeySource, look: &Look, stored: &BTreeMap<String, KeyPlace>) -> Option<KeyPlace> {
    let set = |name: &&String| look.variable(name).is_some_and(|value| !value.is_empty());
    let variable = source.variables.iter().find(set);
    variable
        .map(|name| KeyPlace::Environment(name.clone()))
        .or_else(|| stored.get(&source.account).cloned())
}

fn remove(provider: &str, voice: Voice) -> Result<(), RunError> {
    let place = Place::here()?;
    let account = place.account(provider)?;
    let removed = place
        .store
        .remove(&account)
        .map_err(|error| store_failed(&error))?;
    if voice == Voice::Json {
        print_json(&json!({ "provider": account, "removed": removed }));
        return Ok(());
    }
    print(&match removed {
        Some(lay) => format!("The key of {account} is removed from the {lay}.\n"),
        None => format!("No key of {account} is stored.\n"),
    });
    Ok(())
}

fn store_failed(error: &StoreError) -> RunError {
    let (code, fix) = match error {
        StoreError::Key(_) => ("key_invalid", "copy the key once more; nothing was stored"),
        StoreError::Open { .. } => (
            "key_store",
            "give it to yourself alone, with `chown` and `chmod go=`, or remove it",
        ),
        StoreError::Keyring { .. } => (
            "key_store",
            "unlock the keyring and try again, or use the file with `--file`",
        ),
        StoreError::Form { .. } => ("key_store", "remove the file and store the keys anew"),
        StoreError::Io { .. } => ("key_store", "free space or give yourself access"),
    };
    RunError::Refused(Refusal::new(code, "key", error.to_string(), fix))
}

/// Reads a key: typed on a terminal without being shown, else all of standard input.
fn read_key(account: &str) -> Result<Vec<u8>, RunError> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return read_up_to(KEY_BYTES + 2, None);
    }
    // What was typed before the question is dropped; what comes after it isn't shown.
    let hidden = Hidden::begin()?;
    error_line(&format!("Key of {account} (it isn't shown):"));
    let read = read_up_to(KEY_BYTES + 2, Some(b'\n'));
    drop(hidden);
    error_line("");
    read
}

/// Reads without a buffer that would keep a copy, to the end or behind the first `until`.
fn read_up_to(most: usize, until: Option<u8>) -> Result<Vec<u8>, RunError> {
    let mut key = Vec::with_capacity(most);
    let mut byte = [0];
    while key.len() < most {
        match rustix::io::read(std::io::stdin(), &mut byte) {
            Ok(0) => break,
            Ok(_) if until == Some(byte[0]) => break,
            Ok(_) => key.push(byte[0]),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(usage(
                    "key",
                    format!("standard input can't be read: {error}"),
                    "type the key, or pipe it in",
                ));
            }
        }
    }
    Ok(key)
}

/// A terminal that doesn't show what is typed, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> Result<Self, RunError> {
        let failed = |error: rustix::io::Errno| {
            usage(
                "key",
                format!("this terminal can't hide what is typed: {error}"),
                "pipe the key in instead",
            )
        };
        let before = tcgetattr(std::io::stdin()).map_err(failed)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden).map_err(failed)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing more.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
