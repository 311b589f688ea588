//! The classes of what commands do, as data: id, answer, reason, safer way, examples.
//!
//! An example under `matches` must make its rule speak, one under `spares` mustn't: a test runs them.

pub(crate) mod container;
pub(crate) mod destructive;
pub(crate) mod history;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod opaque;
pub(crate) mod package;
pub(crate) mod persistence;
pub(crate) mod place;
pub(crate) mod privilege;
pub(crate) mod remote;
pub(crate) mod secret;

/// What kind of harm a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Something is lost.
    Destructive,
    /// Something outside the workspace is touched.
    Place,
    /// A secret is read or sent.
    Secret,
    /// Something is left behind that runs later.
    Persistence,
    /// More authority is taken.
    Privilege,
    /// Others are talked to.
    Network,
    /// A package's own programs run.
    Package,
    /// Work or commits of a repository are lost.
    History,
    /// Something at a service is changed: cloud, cluster, database, forge.
    Remote,
    /// A container runs or goes.
    Container,
    /// The machine's own state changes.
    Machine,
    /// It can't be told what happens.
    Opaque,
}

/// What an unconfined agent of a workspace is told about an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// It may.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not.
    Deny,
}

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable id: class and name.
    pub id: &'static str,
    /// What kind of harm it is about.
    pub class: Class,
    /// What an unconfined agent of a workspace is told.
    pub answer: Answer,
    /// Why, for people.
    pub reason: &'static str,
    /// What to do instead.
    pub safer: &'static str,
    /// Lines that it speaks about.
    pub matches: &'static [&'static str],
    /// Lines that look alike and that it doesn't speak about.
    pub spares: &'static [&'static str],
}

/// Writes a table of rules of one class.
macro_rules! rules {
    ($class:ident: $($name:ident $id:literal $answer:ident $reason:literal, $safer:literal; $matches:expr; $spares:expr;)*) => {
        $(pub(crate) static $name: $crate::rules::Rule = $crate::rules::Rule {
            id: $id,
            class: $crate::rules::Class::$class,
            answer: $crate::rules::Answer::$answer,
            reason: $reason,
            safer: $safer,
            matches: &$matches,
            spares: &$spares,
        };)*
        pub(super) static TABLE: &[&$crate::rules::Rule] = &[$(&$name),*];
    };
}
pub(crate) use rules;

/// Every rule there is.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        destructive::TABLE,
        place::TABLE,
        secret::TABLE,
        persistence::TABLE,
        privilege::TABLE,
        network::TABLE,
        package::TABLE,
        history::TABLE,
        remote::TABLE,
        container::TABLE,
        machine::TABLE,
        opaque::TABLE,
    ]
    .into_iter()
    .flatten()
    .copied()
}
