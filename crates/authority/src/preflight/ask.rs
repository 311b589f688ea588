//! What needs a person's yes before a child starts (S3), read off its grant: what isn't granted is
//! never asked about, and what is granted can't be forgotten.

use crate::{Ask, Consent, Covers as _, Grant, Resources, Set, Tool, WorkspaceMode, escape};

/// The questions that a grant raises, in the card's order.
pub(super) fn of(grant: &Grant) -> Vec<Ask> {
    let bounds = grant.bounds();
    let workspace = grant.workspace();
    let outside: Vec<String> = bounds
        .read
        .items()
        .chain(bounds.write.items())
        .filter(|root| !workspace.root.covers(root))
        .map(|root| format!("`{}`", escape(&root.path().to_string_lossy())))
        .collect();
    let hosts = bounds.hosts.items().map(|host| escape(&host.0));
    let ports = bounds.ports.items().map(|port| format!("port {port}"));
    let reached: Vec<String> = hosts.chain(ports).collect();
    let questions = [
        (
            Consent::Write,
            workspace.mode == WorkspaceMode::Direct && !bounds.write.is_none(),
            format!(
                "writes to `{}` itself, at once, not to a copy",
                escape(&workspace.path().to_string_lossy())
            ),
        ),
        (
            Consent::Shell,
            bounds.tools.permits(&Tool::Bash),
            "runs shell commands of its own choice, inside its boundary".to_owned(),
        ),
        (
            Consent::Outside,
            !outside.is_empty() || bounds.read == Set::Any,
            format!(
                "reaches paths outside the workspace: {}",
                outside.join(", ")
            ),
        ),
        (
            Consent::Extensions,
            bounds.resources != Resources::RunnerOnly,
            "loads extensions or settings that are not Deputize's own".to_owned(),
        ),
        (
            Consent::Network,
            !bounds.hosts.is_none() || !bounds.ports.is_none(),
            format!(
                "reaches, or can be reached through, the network: {}",
                reached.join(", ")
            ),
        ),
    ];
    questions
        .into_iter()
        .filter(|(_, is_asked, _)| *is_asked)
        .map(|(effect, _, why)| Ask { effect, why })
        .collect()
}

/// A model and what it costs, as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelPrice<'a> {
    /// The model by name.
    pub name: &'a str,
    /// Millionths of a dollar per million tokens of output; `None` where nobody knows.
    pub output: Option<u64>,
}

/// The question that a model raises which costs more than its parent's, or might (S3, D6). Where a
/// person asks there is no parent, and nothing to compare with.
#[must_use]
pub fn dearer_model(child: ModelPrice<'_>, parent: Option<ModelPrice<'_>>) -> Option<Ask> {
    let parent = parent?;
    let why = match (child.output, parent.output) {
        (Some(own), Some(parents)) if own <= parents => return None,
        _ if child.name == parent.name => return None,
        (Some(_), Some(_)) => "costs more than",
        _ => "may cost more than",
    };
    Some(Ask {
        effect: Consent::DearerModel,
        why: format!(
            "uses the model `{}`, which {why} its parent's `{}`",
            escape(child.name),
            escape(parent.name)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3, D6: dearer, or not known to be no dearer, is asked about; without a parent nothing is.
    #[test]
    fn a_dearer_model_is_a_question() {
        let model = |name, output| ModelPrice { name, output };
        let parent = Some(model("parent", Some(10)));
        assert_eq!(dearer_model(model("own", Some(99)), None), None);
        assert_eq!(dearer_model(model("own", Some(10)), parent), None);
        for (child, words) in [
            (model("own", Some(11)), "which costs more"),
            (model("own", None), "which may cost more"),
        ] {
            let ask = dearer_model(child, parent).unwrap();
            assert_eq!(ask.effect, Consent::DearerModel);
            assert!(ask.why.contains(words), "{}", ask.why);
        }
        let unknown = Some(model("parent", None));
        assert!(dearer_model(model("own", Some(1)), unknown).is_some());
        assert_eq!(dearer_model(model("parent", None), unknown), None);
    }
}
