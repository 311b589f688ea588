//! The table of verdicts that `docs/verdicts.md` shows keeps its order in every direction.

#[path = "../../examples/verdicts/kinds.rs"]
mod kinds;
#[path = "../../examples/verdicts/table.rs"]
mod table;

use deputize_authority::{Level, Mode, WorkspaceMode};

use kinds::{KINDS, Sample};
use table::{Column, cell, columns, page, unconfined};

fn rank(cell: &str) -> usize {
    let order = ["deny", "ask", "allow", "contained"];
    order.iter().position(|word| *word == cell).unwrap().min(2)
}

/// G2, G3: a mode that asks less never stops more, but where the reading denies what `ask` would put to
/// a person; explore changes and runs nothing.
#[test]
fn g3_each_mode_allows_what_the_one_before_it_does() {
    for kind in KINDS {
        for column in columns() {
            let ranks: Vec<usize> = Mode::ALL
                .iter()
                .map(|mode| rank(&cell(kind, *mode, column)))
                .collect();
            let looks = matches!(kind.call, Sample::Read(_) | Sample::GitLog);
            // In explore git runs where it can write nothing, and needs no question.
            let is_git = matches!(kind.call, Sample::GitLog);
            let ranks_of_changing = &ranks[usize::from(is_git)..];
            assert!(
                ranks_of_changing.is_sorted(),
                "{} {column:?}: {ranks:?}",
                kind.name
            );
            assert!(looks || ranks[0] == 0, "{} in explore", kind.name);
        }
    }
}

/// G2, B1: less of a boundary, or the folder itself instead of a copy, never allows more.
#[test]
fn g2_less_to_hold_it_in_never_allows_more() {
    for kind in KINDS {
        for mode in Mode::ALL {
            let at = |boundary, workspace| {
                rank(&cell(
                    kind,
                    mode,
                    Column {
                        boundary,
                        workspace,
                    },
                ))
            };
            for workspace in WorkspaceMode::ALL {
                let ranks: Vec<usize> = Level::ALL
                    .iter()
                    .map(|level| at(*level, workspace))
                    .collect();
                assert!(ranks.is_sorted_by(|a, b| a >= b), "{} {mode:?}", kind.name);
            }
            for boundary in Level::ALL {
                let [copy, worktree, direct] = WorkspaceMode::ALL.map(|mode| at(boundary, mode));
                assert_eq!(copy, worktree, "{} {mode:?}", kind.name);
                assert!(copy >= direct, "{} {mode:?}", kind.name);
            }
        }
    }
}

/// G6: every class of rule about command lines has a kind in the table, and administering is denied
/// wherever it stands.
#[test]
fn g6_every_class_has_its_rows() {
    let spoken: Vec<String> = KINDS.iter().map(|kind| unconfined(kind.call).1).collect();
    for rule in deputize_shell::rules::all() {
        let class = rule.id.split('.').next().unwrap();
        let begins = |id: &String| id.starts_with(&format!("{class}."));
        assert!(spoken.iter().any(begins), "no kind for {class}");
    }
    let ours = KINDS
        .iter()
        .find(|kind| kind.name == "administers Deputize");
    for mode in Mode::ALL {
        for column in columns() {
            assert_eq!(cell(ours.unwrap(), mode, column), "deny");
        }
    }
    assert!(page().contains("## In the mode `auto-all`"));
}
