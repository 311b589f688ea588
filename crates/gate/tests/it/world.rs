//! The world that these tests assume: workspace /w, home /home/u, one more readable root.

use std::path::{Path, PathBuf};

use deputize_authority::{
    Bounds, Grant, Layer, Level, Preset, Promise, Root, Set, Tool, Workspace, WorkspaceMode,
};
use deputize_gate::{Context, Fact, Kind, Outcome, PathFact, ProgramFact};
use deputize_shell::{Opinion, first_opinion};

pub(crate) fn root(path: impl Into<PathBuf>) -> Root {
    Root::new(path).unwrap()
}

pub(crate) fn grant(preset: Preset) -> Grant {
    let workspace = Workspace {
        root: root("/w"),
        device: 1,
        inode: 2,
        mode: WorkspaceMode::Direct,
    };
    Grant::of_principal(preset, workspace, Bounds::ANY)
        .attenuate(Layer::Preset, &preset.bounds())
        .attenuate(
            Layer::Request,
            &Bounds {
                read: Set::only([root("/w"), root("/lib/docs")]),
                ..Bounds::ANY
            },
        )
}

/// A grant of some tools in a mode of the workspace; `/lib/read` may be read, not written.
pub(crate) fn grant_with(preset: Preset, mode: WorkspaceMode, tools: &[Tool]) -> Grant {
    let workspace = Workspace {
        mode,
        ..grant(preset).workspace().clone()
    };
    let bounds = Bounds {
        read: Set::only([root("/w"), root("/lib/docs"), root("/lib/read")]),
        write: Set::only([root("/w"), root("/lib/docs")]),
        tools: Set::only(tools.iter().copied()),
        ..preset.bounds()
    };
    let commands = match preset {
        Preset::ReadOnly => Set::Any,
        _ => bounds.commands.clone(),
    };
    Grant::of_principal(preset, workspace, Bounds { commands, ..bounds })
}

pub(crate) fn context(grant: &Grant) -> Context<'_> {
    Context {
        grant,
        mode: grant.mode(),
        home: Some(Path::new("/home/u")),
        boundary: Level::Full,
        held: &Promise::ALL,
        approved: &[],
        agreed: &[],
        rules: &[],
    }
}

pub(crate) fn file(path: &str) -> PathFact {
    PathFact {
        asked: path.into(),
        outcome: Outcome::Resolved,
        canonical: Some(path.into()),
        rest: PathBuf::new(),
        kind: Kind::File,
        device: 1,
        inode: 77,
        links: 1,
        size: 10,
    }
}

pub(crate) fn folder(path: &str) -> PathFact {
    PathFact {
        kind: Kind::Folder,
        inode: if path == "/w" { 2 } else { 78 },
        ..file(path)
    }
}

pub(crate) fn program(asked: &str, canonical: &str) -> Fact {
    Fact::Program(ProgramFact {
        asked: asked.into(),
        canonical: Some(canonical.into()),
        device: 1,
        inode: 99,
    })
}

/// Another parser that always agrees: what is judged must hold without its help.
pub(crate) fn agrees(line: &str) -> Option<Opinion> {
    let mut names = first_opinion(line)?;
    names.remove("[");
    Some(Opinion {
        error: false,
        names,
    })
}
