//! What a deputy may do, and who decided it.
//!
//! This room holds the one value that everything below is compiled from: the [`Grant`]. A grant is
//! made from a principal's own authority and can afterwards only shrink ([`Grant::attenuate`]); the
//! gate explains calls against it and the boundary makes the kernel enforce it.
//!
//! # Invariants
//! - Pure: no file, clock, environment or network is touched here. Facts about the outside arrive
//!   as values ([`preflight::Surroundings`]).
//! - `effective = built-in ∩ global ∩ preset ∩ definition ∩ request ∩ parent` on every axis (S5).
//! - Every refusal carries a stable code, the field, the reason and the fix ([`Refusal`]).
//!
//! The words are those of `docs/glossary.md`; the reasons stand in `docs/design/`.

mod approval;
mod bounds;
mod budget;
mod consent;
pub mod git_config;
mod grant;
#[cfg(test)]
mod lattice_laws;
mod mode;
pub mod preflight;
mod preset;
mod promise;
mod protected;
mod refusal;
mod rules;
mod secrets;
mod set;
mod settle;
mod tool;
mod untrusted;

pub use approval::{Approval, Ask, Channel, Place, Scope};
pub use bounds::{Axis, Bounds, CommandRule, EnvName, Host, PriceCeiling, Resources, Root};
pub use budget::{Budget, Dimension};
pub use consent::{Consent, UnknownConsent};
pub use grant::{Grant, GrantDigest, Layer, Narrowed, UnsealError, Workspace, WorkspaceMode};
pub use mode::Mode;
pub use preset::{Preset, UnknownPreset};
pub use promise::{Level, Promise};
pub use protected::{
    DEEPEST, HOME_STARTUP, MACHINE_STARTUP, PROTECTED, ProtectedKind, ProtectedPath, Shape,
    protected_anywhere, protected_kind, protected_outside,
};
pub use refusal::Refusal;
pub use rules::{
    CallRule, MAX_RULES, MAX_RULES_BYTES, PathPattern, Rule, RuleKind, Rules, Subject, Use,
};
pub use secrets::{SECRET_CLASSES, SecretClass, SecretRules};
pub use set::{Covers, Set};
pub use settle::{Answer, Settled, Standing, settle};
pub use tool::{Tool, UnknownTool};
pub use untrusted::{Secret, Untrusted, escape, escape_json};
