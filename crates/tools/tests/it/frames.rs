//! G10: whatever the bytes, there is an answer.

use deputize_gate::{Fact, Outcome, PathFact, Query};
use deputize_tools::{Claim, Request, Response, ToolFailure};
use proptest::prelude::*;

use crate::world::{World, ask};

fn failed(world: &mut World, bytes: &[u8]) -> ToolFailure {
    match Response::decode(&world.worker.answer(bytes)).unwrap() {
        Response::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn g10_bytes_that_are_no_request_are_refused() {
    let mut world = World::new();
    for bytes in [
        &b""[..],
        b"\xff\x00",
        b"null",
        b"{\"run\":{\"call\":{},\"bound\":{}}}",
        b"{\"facts\":[{\"path\":{\"path\":7}}]}",
        b"{\"shell\":\"ls\"}",
        &[b'['; 100_000],
        &vec![b' '; (8 << 20) + 1],
    ] {
        assert_eq!(failed(&mut world, bytes).code, "bad_frame");
    }
    let many = Request::Facts(vec![Query::Path { path: "/".into() }; 257]);
    assert_eq!(failed(&mut world, &many.encode()).code, "bad_frame");
    // The worker is as good as before.
    let response = ask(&mut world.worker, &Request::Facts(vec![]));
    assert_eq!(response, Response::Facts(vec![]));
}

#[test]
fn responses_are_bounded_before_they_are_read() {
    assert!(Response::decode(&vec![b' '; (4 << 20) + 1]).is_err());
    assert!(Response::decode(b"{}").is_err());
}

#[test]
fn facts_come_in_the_order_of_the_questions() {
    let mut world = World::new();
    world.file("a", "xyz");
    world.file("bin/tool", "");
    let (a, out) = (world.path("a"), world.base().join("out"));
    let facts = world.facts(vec![
        Query::Path { path: out },
        Query::Path { path: a.clone() },
        Query::Path {
            path: world.path("no/such"),
        },
        Query::Program {
            name: "sh".into(),
            cwd: world.path(""),
            search: vec!["/nowhere".into(), world.path("bin"), "/bin".into()],
        },
        Query::Program {
            name: "bin/tool".into(),
            cwd: world.path(""),
            search: vec![],
        },
    ]);
    let [
        Fact::Path(out),
        Fact::Path(a_fact),
        Fact::Path(missing),
        Fact::Program(shell),
        Fact::Program(tool),
    ] = facts.as_slice()
    else {
        panic!("{facts:?}");
    };
    assert_eq!(out.outcome, Outcome::Escapes);
    assert_eq!((&a_fact.asked, a_fact.canonical.as_ref()), (&a, Some(&a)));
    assert_eq!((a_fact.size, a_fact.links), (3, 1));
    assert_eq!(missing.outcome, Outcome::Missing);
    assert_eq!(
        missing.canonical,
        Some(world.path("").components().collect())
    );
    let shell = shell.canonical.as_ref().unwrap();
    assert_eq!(shell, &std::fs::canonicalize("/bin/sh").unwrap());
    // It isn't executable.
    assert_eq!(tool.canonical, None);
}

fn query() -> impl Strategy<Value = Query> {
    let path = prop::collection::vec(
        prop::sample::select(vec!["", "a", "..", "/", "l", "\u{1}"]),
        0..6,
    )
    .prop_map(|parts| std::path::PathBuf::from(parts.join("/")));
    prop_oneof![
        path.clone().prop_map(|path| Query::Path { path }),
        (path.clone(), path).prop_map(|(name, cwd)| Query::Program {
            name: name.into(),
            cwd,
            search: vec!["a".into()]
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Paths that no gate would ask about get an answer too, and never one from outside.
    #[test]
    fn g10_no_question_fails_the_worker(
        queries in prop::collection::vec(query(), 0..20),
        claims in prop::collection::vec((any::<String>(), any::<Option<u64>>(), any::<Option<String>>()), 0..8),
    ) {
        let mut world = World::new();
        world.link("..", "l");
        for fact in world.facts(queries) {
            if let Fact::Path(PathFact { outcome: Outcome::Resolved, canonical, .. }) = fact {
                prop_assert!(canonical.unwrap().starts_with(world.path("")));
            }
        }
        let claims: Vec<Claim> = claims
            .into_iter()
            .map(|(path, line, quote)| Claim { path, line, quote })
            .collect();
        let expected = claims.len();
        let Response::Evidence(checks) = ask(&mut world.worker, &Request::Evidence(claims)) else {
            return Err(TestCaseError::fail("no checks"));
        };
        prop_assert_eq!(checks.len(), expected);
    }
}
