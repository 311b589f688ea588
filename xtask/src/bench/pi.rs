//! Rows about Pi with the extension.

use std::path::Path;
use std::process::Command;

use super::measure::{self, Side};
use super::program::Program;
use super::scene::{As, Scene};
use super::{Line, Row, start};
use crate::extension;
use crate::workspace::Workspace;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pi {
    /// What the extension adds to the start.
    Start,
    /// What children take, beside those of Pi's own example: a program of ours measures that.
    Children(Program),
}

impl Pi {
    /// Measures with the Pi that is installed.
    pub(super) fn lines(
        self,
        workspace: &Workspace,
        scene: &Scene,
        row: &Row,
        rounds: usize,
    ) -> Vec<Line> {
        let (Some(node), true) = (
            extension::node(workspace),
            extension::is_installed(workspace),
        ) else {
            return vec![row.absent("Pi isn't installed: `cargo xtask test` does that")];
        };
        if extension::build(workspace).is_err() {
            return vec![row.absent("the extension can't be built")];
        }
        let folder = extension::folder(workspace);
        // The checkout may lie where only its owner comes.
        let who = *scene.everybody().last().unwrap_or(&As::Ordinary);
        match self {
            Self::Start => start(who, &node, &folder, scene, row, rounds),
            Self::Children(program) => {
                let paths = [
                    ("DEPUTIZE_BENCH_NODE", &*node),
                    ("DEPUTIZE_BENCH_PI", &*folder),
                ];
                program.lines_as(who, &paths, scene, row, rounds)
            }
        }
    }
}

/// Pi alone, and with the extension and its program: started, and ended by the end of its input.
fn start(
    who: As,
    node: &Path,
    folder: &Path,
    scene: &Scene,
    row: &Row,
    rounds: usize,
) -> Vec<Line> {
    let cli = folder.join("node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js");
    let pi = move |more: &[&Path]| -> Command {
        let mut command = scene.command(who, node);
        command
            .arg(&cli)
            .args(["--mode", "rpc", "--offline", "--no-approve"]);
        if let [extension, program] = more {
            command.arg("-e").arg(extension);
            command.arg("--deputize-program").arg(program);
        }
        command
    };
    let built = folder.join("dist/deputize.mjs");
    let sides = [
        Side {
            name: "Pi".to_owned(),
            command: Box::new(|| pi(&[])),
        },
        Side {
            name: "Pi with the extension".to_owned(),
            command: Box::new(|| pi(&[&built, scene.program()])),
        },
    ];
    let outcomes = measure::in_turn(&sides, rounds);
    start::lines(row.name, row, &sides, &outcomes)
}
