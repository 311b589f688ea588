//! The worker: answers frames, inside the boundary.

use std::panic::{AssertUnwindSafe, catch_unwind};

use deputize_authority::{Grant, SecretRules, Tool};
use deputize_gate::{Bound, BoundPath, Call, Fresh, Kind, Sealed};

use crate::beneath::{Beneath, Lost, OpenError, Roots};
use crate::change::{self, Hash, Known};
use crate::grep::{Pattern, grep};
use crate::output::{ToolFailure, ToolOutput};
use crate::rank::rank;
use crate::read::{Telling, read};
use crate::wire::{Request, Response};
use crate::{evidence, facts, find, ls};

/// The tools' side of a boundary: it holds the granted roots open and answers one request at a
/// time.
///
/// # Invariants
/// - Only sealed calls run, and only if the inode that was judged is still there.
/// - No input makes it panic or run on: sizes and times are limited, and a fault of ours becomes a
///   failure in the answer.
#[derive(Debug)]
pub struct Worker {
    roots: Roots,
    everything: Roots,
    workspace: std::path::PathBuf,
    secrets: SecretRules,
    telling: Telling,
    known: Known,
}

impl Worker {
    /// Opens the readable roots of a grant.
    ///
    /// # Errors
    /// When `openat2` isn't available, a root can't be opened, or the workspace is another folder
    /// than the one that was granted.
    pub fn open(grant: &Grant) -> Result<Self, OpenError> {
        let tools = &grant.bounds().tools;
        let changes = tools.permits(&Tool::Write) || tools.permits(&Tool::Edit);
        Ok(Self {
            roots: Roots::of(grant)?,
            everything: Roots::everything()?,
            workspace: grant.workspace().path().to_owned(),
            secrets: SecretRules::allowing(grant.bounds().secrets.clone()),
            telling: match changes {
                true => Telling::Hash,
                false => Telling::Nothing,
            },
            known: Known::default(),
        })
    }

    /// Answers one request frame with one response frame.
    pub fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let answer = || match Request::decode(request) {
            Ok(request) => self.respond(request),
            Err(error) => {
                let reason = match std::error::Error::source(&error) {
                    Some(source) => format!("{error}: {source}"),
                    None => error.to_string(),
                };
                Response::Failed(ToolFailure::new("bad_frame", reason))
            }
        };
        // All that is kept between requests is what the child knows of files. Were that left behind
        // by a fault, changes would be refused, not made.
        catch_unwind(AssertUnwindSafe(answer))
            .unwrap_or_else(|_| {
                Response::Failed(ToolFailure::new(
                    "fault",
                    "a tool failed: a fault of Deputize",
                ))
            })
            .encode()
    }

    fn respond(&mut self, request: Request) -> Response {
        match request {
            Request::Facts(queries) => Response::Facts(
                queries
                    .into_iter()
                    .map(|query| facts::answer(query, &self.roots, &self.everything))
                    .collect(),
            ),
            Request::Run(sealed) => match self.run(&sealed) {
                Ok(output) => Response::Output(output),
                Err(failure) => Response::Failed(failure),
            },
            Request::Evidence(claims) => Response::Evidence(
                claims
                    .into_iter()
                    .map(|claim| {
                        evidence::check(&claim, &self.roots, &self.workspace, &self.secrets)
                    })
                    .collect(),
            ),
        }
    }

    fn run(&mut self, sealed: &Sealed<Call>) -> Result<ToolOutput, ToolFailure> {
        let Bound::Path(bound) = sealed.bound() else {
            return Err(not_a_file_tool());
        };
        if let (Call::Write { content, .. }, Some(fresh)) = (sealed.call(), &bound.fresh) {
            return self.create(bound, fresh, content);
        }
        let place = self.reopen(bound)?;
        let canonical = place.canonical().to_owned();
        let is_change = matches!(sealed.call(), Call::Write { .. } | Call::Edit { .. });
        let judged = bound.found.as_ref().map(|found| &found.canonical);
        if is_change && judged != Some(&canonical) {
            return Err(Lost::Changed.into());
        }
        let (output, hash) = self.run_at(&place, sealed.call())?;
        drop(place);
        if let Some(hash) = hash {
            self.known.remember(&canonical, hash);
        }
        Ok(output)
    }

    fn run_at(
        &self,
        place: &Beneath<'_>,
        call: &Call,
    ) -> Result<(ToolOutput, Option<Hash>), ToolFailure> {
        let looked = |output| Ok((output, None));
        let changed = |(output, hash)| Ok((output, Some(hash)));
        match call {
            Call::Read { offset, limit, .. } => {
                expect(place, Kind::File)?;
                read(place, *offset, *limit, self.telling)
            }
            Call::Ls { .. } => looked(ls::ls(place, &self.secrets)?),
            Call::Find { pattern, limit, .. } => {
                expect(place, Kind::Folder)?;
                looked(find::find(
                    place,
                    &self.workspace,
                    pattern,
                    *limit,
                    &self.secrets,
                )?)
            }
            Call::Grep {
                pattern,
                glob,
                options,
                output,
                ..
            } => {
                let pattern = Pattern {
                    pattern,
                    glob: glob.as_deref(),
                    options,
                    output: *output,
                };
                looked(grep(place, &self.workspace, &pattern, &self.secrets)?)
            }
            Call::Rank { terms, limit, .. } => {
                looked(rank(place, &self.workspace, terms, *limit, &self.secrets)?)
            }
            Call::Write { content, .. } => {
                expect(place, Kind::File)?;
                let last_seen = self.known.last_seen(place.canonical());
                changed(change::write(place, &self.workspace, content, last_seen)?)
            }
            Call::Edit { edits, .. } => {
                expect(place, Kind::File)?;
                let last_seen = self.known.last_seen(place.canonical());
                changed(change::edit(place, &self.workspace, edits, last_seen)?)
            }
            Call::Bash { .. } | Call::Git(_) | Call::Exec(_) => Err(not_a_file_tool()),
        }
    }

    /// Makes a file where the gate saw none, below the folder that it saw.
    fn create(
        &mut self,
        bound: &BoundPath,
        fresh: &Fresh,
        content: &str,
    ) -> Result<ToolOutput, ToolFailure> {
        match self.roots.find(&bound.path) {
            Err(Lost::Missing { deepest, rest })
                if deepest == fresh.folder.canonical && rest == fresh.rest => {}
            Ok(_) | Err(Lost::Missing { .. }) => return Err(Lost::Changed.into()),
            Err(lost) => return Err(lost.into()),
        }
        let target = fresh.folder.canonical.join(&fresh.rest);
        let folder = self.roots.find(&fresh.folder.canonical)?;
        let now = folder.identity();
        let then = &fresh.folder;
        let is_same =
            (now.device, now.inode) == (then.device, then.inode) && now.canonical == then.canonical;
        if !is_same || self.secrets.denied(&target).is_some() {
            return Err(Lost::Changed.into());
        }
        let (output, hash) = change::create(&folder, &fresh.rest, &self.workspace, content)?;
        drop(folder);
        self.known.remember(&target, hash);
        Ok(output)
    }

    /// Opens what was judged, and nothing else.
    fn reopen(&self, bound: &BoundPath) -> Result<Beneath<'_>, ToolFailure> {
        let found = self.roots.find(&bound.path)?;
        let now = found.identity();
        let is_same = bound
            .found
            .as_ref()
            .is_some_and(|then| (then.device, then.inode) == (now.device, now.inode));
        if !is_same || self.secrets.denied(found.canonical()).is_some() {
            return Err(Lost::Changed.into());
        }
        Ok(found)
    }
}

fn not_a_file_tool() -> ToolFailure {
    ToolFailure::new(
        "not_a_file_tool",
        "programs are started by the boundary, not by the worker",
    )
}

fn expect(place: &Beneath<'_>, kind: Kind) -> Result<(), ToolFailure> {
    if place.kind() == kind {
        return Ok(());
    }
    Err(ToolFailure::new(
        "wrong_kind",
        format!("it is {}, not {}", place.kind().name(), kind.name()),
    ))
}

impl From<Lost> for ToolFailure {
    fn from(lost: Lost) -> Self {
        let (code, advice) = match lost {
            Lost::Missing { .. } => ("not_found", "look for its name with find"),
            Lost::Escapes => ("outside", "use a path inside the workspace"),
            Lost::Loop => ("symlink_loop", "use the path of a real file"),
            Lost::Denied => ("permission_denied", "use another path"),
            Lost::Changed => ("changed_since_check", "call again"),
            Lost::Failed(_) => ("io", "call again, or use another path"),
        };
        Self::new(code, format!("{lost}: {advice}"))
    }
}

impl From<std::io::Error> for ToolFailure {
    fn from(error: std::io::Error) -> Self {
        Self::new("io", format!("reading failed: {error}"))
    }
}
