//! The direction of imports, held against `cargo metadata`: they only go down.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// What one package may import of ours, and whether it may know the async runtime.
struct Room {
    package: &'static str,
    floor: u8,
    imports: Imports,
    runtime: Runtime,
}

enum Imports {
    /// Whatever is on a lower floor.
    Below,
    /// These and nothing else of ours.
    Only(&'static [&'static str]),
}

#[derive(PartialEq, Eq)]
enum Runtime {
    /// tokio may be among the dependencies.
    May,
    /// tokio may not, however indirectly.
    Never,
}

const fn room(package: &'static str, floor: u8, imports: Imports, runtime: Runtime) -> Room {
    Room {
        package,
        floor,
        imports,
        runtime,
    }
}

const AUTHORITY: Imports = Imports::Only(&["deputize-authority"]);
/// The gate judges what the analysis of a command line says.
const GATE: Imports = Imports::Only(&["deputize-authority", "deputize-shell"]);
/// A face has one way in: `runs` is the only path to an approval.
const FACE: Imports = Imports::Only(&["deputize-authority", "deputize-runs"]);

/// Every package of the workspace. One that isn't here fails the check: give it a floor first.
const ROOMS: &[Room] = &[
    room("deputize-authority", 0, Imports::Below, Runtime::Never),
    room("deputize-ledger", 0, Imports::Below, Runtime::Never),
    // Hostile text is read here, behind a wall of its own, so that it is measured and fuzzed alone.
    room("deputize-shell", 0, AUTHORITY, Runtime::Never),
    room("deputize-gate", 1, GATE, Runtime::Never),
    room("deputize-boundary", 1, AUTHORITY, Runtime::Never),
    // Files of other programs: nothing of a run is known here.
    room("deputize-hosts", 1, AUTHORITY, Runtime::Never),
    room("deputize-model", 1, AUTHORITY, Runtime::May),
    room("deputize-workspace", 1, AUTHORITY, Runtime::Never),
    room("deputize-tools", 2, Imports::Below, Runtime::Never),
    room("deputize-process", 2, Imports::Below, Runtime::May),
    room("deputize-egress", 2, Imports::Below, Runtime::May),
    room("deputize-agent", 2, Imports::Below, Runtime::Never),
    room("deputize-runs", 3, Imports::Below, Runtime::May),
    room("deputize-mcp", 4, FACE, Runtime::May),
    room("deputize-tui", 4, FACE, Runtime::May),
    room("deputize-console", 4, FACE, Runtime::May),
    room("deputize", 5, Imports::Below, Runtime::May),
    room("deputize-testkit", 0, Imports::Below, Runtime::Never),
    room("xtask", 0, Imports::Below, Runtime::May),
];

/// The package that only tests may depend on.
const TESTKIT: &str = "deputize-testkit";

/// Every import that goes where it may not.
pub(super) fn findings(metadata: &Value) -> Vec<String> {
    let members: BTreeSet<&str> = strings(&metadata["workspace_members"]).collect();
    let packages = list(&metadata["packages"])
        .filter(|package| members.contains(text(&package["id"])))
        .collect::<Vec<_>>();
    let mut findings = Vec::new();
    for package in packages {
        let name = text(&package["name"]);
        let Some(room) = ROOMS.iter().find(|room| room.package == name) else {
            findings.push(format!("{name} has no floor in xtask/src/check/layers.rs"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            findings.extend(import(room, dependency));
        }
        if room.runtime == Runtime::Never {
            let way = way_to(&metadata["resolve"], text(&package["id"]), "tokio");
            findings.extend(way.map(|way| format!("{name} must not know tokio: {way}")));
        }
    }
    findings
}

/// What is wrong with one dependency, if anything is.
fn import(room: &Room, dependency: &Value) -> Option<String> {
    let name = text(&dependency["name"]);
    let other = ROOMS.iter().find(|room| room.package == name)?;
    let package = room.package;
    let in_tests = dependency["kind"] == "dev";
    if name == TESTKIT {
        return (!in_tests).then(|| format!("{package} ships {TESTKIT}: only tests may use it"));
    }
    // A room may stand on another of its own floor only when its list names it.
    let named = matches!(room.imports, Imports::Only(allowed) if allowed.contains(&name));
    if other.floor > room.floor || (other.floor == room.floor && !named) {
        let (from, to) = (room.floor, other.floor);
        return Some(format!(
            "{package} (floor {from}) imports {name} (floor {to})"
        ));
    }
    match room.imports {
        // A test may set a scene with any lower room.
        Imports::Only(allowed) if !in_tests && !allowed.contains(&name) => Some(format!(
            "{package} imports {name}; it may import {}",
            allowed.join(" and ")
        )),
        _ => None,
    }
}

/// The shortest chain of shipped dependencies from a package to the one that is named.
fn way_to(resolve: &Value, from: &str, wanted: &str) -> Option<String> {
    let nodes: HashMap<&str, &Value> = list(&resolve["nodes"])
        .map(|node| (text(&node["id"]), node))
        .collect();
    let mut seen = BTreeSet::from([from]);
    let mut ways = std::collections::VecDeque::from([(from, String::new())]);
    while let Some((id, way)) = ways.pop_front() {
        for dependency in nodes
            .get(id)
            .into_iter()
            .flat_map(|node| list(&node["deps"]))
        {
            let ships = list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
            let (name, next) = (text(&dependency["name"]), text(&dependency["pkg"]));
            if !ships || !seen.insert(next) {
                continue;
            }
            let way = match way.as_str() {
                "" => name.to_owned(),
                before => format!("{before} → {name}"),
            };
            if name == wanted {
                return Some(way);
            }
            ways.push_back((next, way));
        }
    }
    None
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> = dependencies
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind}))
            .collect();
        json!({"id": name, "name": name, "dependencies": dependencies})
    }

    fn check(packages: &[Value]) -> Vec<String> {
        let members: Vec<&str> = packages
            .iter()
            .map(|package| text(&package["id"]))
            .collect();
        findings(&json!({"workspace_members": members, "packages": packages}))
    }

    #[test]
    fn imports_go_down() {
        let fine = [
            package(
                "deputize-gate",
                &[("deputize-authority", None), ("serde", None)],
            ),
            package("deputize-gate", &[("deputize-testkit", Some("dev"))]),
            package("deputize-gate", &[("deputize-shell", None)]),
            package("deputize-shell", &[("deputize-authority", None)]),
            package(
                "deputize",
                &[("deputize-boundary", None), ("deputize-runs", None)],
            ),
        ];
        assert_eq!(check(&fine), [""; 0]);
    }

    #[test]
    fn imports_up_sideways_or_past_the_list_are_found() {
        for (name, dependency, kind) in [
            ("deputize-authority", "deputize-gate", None),
            ("deputize-authority", "deputize-ledger", None),
            ("deputize-shell", "deputize-ledger", None),
            ("deputize-authority", "deputize-shell", None),
            ("deputize-tools", "deputize-agent", Some("dev")),
            ("deputize-boundary", "deputize-ledger", None),
            ("deputize-mcp", "deputize-gate", None),
            ("deputize-runs", "deputize-testkit", None),
            ("deputize-gate", "deputize-runs", Some("build")),
        ] {
            let found = check(&[package(name, &[(dependency, kind)])]);
            assert_eq!(found.len(), 1, "{name} -> {dependency}: {found:?}");
        }
    }

    #[test]
    fn a_package_without_a_floor_is_found() {
        assert_eq!(check(&[package("deputize-utils", &[])]).len(), 1);
    }

    #[test]
    fn the_runtime_is_found_however_deep_it_lies() {
        let edge = |name: &str, kind: Option<&str>| json!({"name": name, "pkg": name, "dep_kinds": [{"kind": kind}]});
        let graph = |kind: Option<&str>| {
            json!({
                "workspace_members": ["deputize-gate"],
                "packages": [package("deputize-gate", &[])],
                "resolve": {"nodes": [
                    {"id": "deputize-gate", "deps": [edge("hyper", kind)]},
                    {"id": "hyper", "deps": [edge("tokio", None)]},
                ]},
            })
        };
        let found = findings(&graph(None));
        assert_eq!(found, ["deputize-gate must not know tokio: hyper → tokio"]);
        assert_eq!(findings(&graph(Some("dev"))), [""; 0]);
    }
}
