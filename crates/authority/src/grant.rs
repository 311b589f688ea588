//! The grant: all that a child may do.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Axis, Bounds, Mode, Preset, Root};

/// The folder that a child works in, named by its canonical path and by the inode behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Canonical path.
    pub root: Root,
    /// Device number of the folder.
    pub device: u64,
    /// Inode number of the folder.
    pub inode: u64,
    /// Where writes go.
    pub mode: WorkspaceMode,
}

impl Workspace {
    /// The canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.root.path()
    }
}

/// Where a child's writes to its workspace go (C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceMode {
    /// Into a copy that shows the folder below it; the folder stays as it is until a person applies
    /// the copy.
    CopyOnWrite,
    /// Into a private clone of the repository.
    Worktree,
    /// Into the folder itself.
    Direct,
}

impl WorkspaceMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::CopyOnWrite, Self::Worktree, Self::Direct];

    /// The name as options and reports spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CopyOnWrite => "copy-on-write",
            Self::Worktree => "worktree",
            Self::Direct => "direct",
        }
    }

    /// Whether what is written can be thrown away without a trace in the folder itself.
    #[must_use]
    pub fn is_copy(self) -> bool {
        self != Self::Direct
    }
}

/// Who set a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// What Deputize itself never exceeds.
    BuiltIn,
    /// The user's configuration.
    Global,
    /// The preset's mechanics.
    Preset,
    /// The agent definition.
    Definition,
    /// The request.
    Request,
    /// The parent's own grant.
    Parent,
}

/// A step that made the grant smaller: who did it, and on which axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowed {
    /// The layer.
    pub by: Layer,
    /// The axes on which it took something away.
    pub axes: Vec<Axis>,
}

/// All that a child may do. Gate, boundary, budget and ledger read this one value.
///
/// # Invariants
/// - [`Grant::attenuate`] is the only way from one grant to another, and it never widens.
/// - The fields are private: nothing outside this module can edit a grant in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    preset: Preset,
    workspace: Workspace,
    bounds: Bounds,
    trail: Vec<Narrowed>,
}

/// The wire shape of a grant: only [`Grant::unseal`] turns it into one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedGrant {
    preset: Preset,
    workspace: Workspace,
    bounds: Bounds,
    trail: Vec<Narrowed>,
}

/// Why sealed bytes were not taken as a grant.
#[derive(Debug, thiserror::Error)]
pub enum UnsealError {
    /// The bytes aren't those that were sealed.
    #[error("the grant's digest is not the one it was sealed with")]
    Digest,
    /// The bytes don't have a grant's shape.
    #[error("the sealed grant can't be read")]
    Shape(#[source] serde_json::Error),
}

impl Grant {
    /// The principal's own authority over a workspace: where every chain of grants begins.
    ///
    /// `ceiling` is what Deputize lets any principal hand on. A child's grant is never made here.
    #[must_use]
    pub fn of_principal(preset: Preset, workspace: Workspace, ceiling: Bounds) -> Self {
        Self {
            preset,
            workspace,
            bounds: ceiling,
            trail: Vec::new(),
        }
    }

    /// This grant, narrowed by what one layer permits. What was taken away is recorded.
    #[must_use]
    pub fn attenuate(&self, by: Layer, layer: &Bounds) -> Self {
        let bounds = self.bounds.meet(layer);
        let axes = self.bounds.differing(&bounds);
        let mut trail = self.trail.clone();
        if !axes.is_empty() {
            trail.push(Narrowed { by, axes });
        }
        Self {
            bounds,
            trail,
            ..self.clone()
        }
    }

    /// The preset whose mechanics apply.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// The gate's stance.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.preset.mode()
    }

    /// The folder that the child works in.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// What is permitted, on every axis.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The steps that narrowed it, first to last.
    #[must_use]
    pub fn trail(&self) -> &[Narrowed] {
        &self.trail
    }

    /// The bytes that travel to another process of ours, and the digest that proves them.
    ///
    /// Every map and set below is ordered, so equal grants have equal bytes.
    #[must_use]
    pub fn seal(&self) -> (Vec<u8>, GrantDigest) {
        // A grant holds only strings, numbers and ordered sets: writing it as JSON can't fail. Were
        // it to, the empty bytes would not unseal, so the reader fails closed.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let digest = GrantDigest::of(&bytes);
        (bytes, digest)
    }

    /// Takes back what [`Grant::seal`] wrote.
    ///
    /// # Errors
    /// When the bytes differ from those that were sealed, or aren't a grant.
    pub fn unseal(bytes: &[u8], digest: &GrantDigest) -> Result<Self, UnsealError> {
        if GrantDigest::of(bytes) != *digest {
            return Err(UnsealError::Digest);
        }
        let sealed: SealedGrant = serde_json::from_slice(bytes).map_err(UnsealError::Shape)?;
        let SealedGrant {
            preset,
            workspace,
            bounds,
            trail,
        } = sealed;
        Ok(Self {
            preset,
            workspace,
            bounds,
            trail,
        })
    }

    /// The digest of the sealed bytes.
    #[must_use]
    pub fn digest(&self) -> GrantDigest {
        self.seal().1
    }
}

/// SHA-256 of a sealed grant, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantDigest(String);

impl GrantDigest {
    fn of(bytes: &[u8]) -> Self {
        use fmt::Write as _;
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            // Writing to a String can't fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }
}

impl fmt::Display for GrantDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
