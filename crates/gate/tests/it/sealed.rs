//! G8: the trip of a sealed call to another process.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use deputize_authority::Preset;
use deputize_gate::{Allowed, Call, Fact, Launch, ReceiveError, Sealed, Verdict, decide};
use serde_json::Value;

use crate::world::{context, file, folder, grant, program};

fn allowed(call: Call, facts: &[Fact], preset: Preset) -> Allowed {
    let grant = grant(preset);
    match decide(call, facts, &context(&grant)) {
        Verdict::Allow(allowed) => allowed,
        verdict => panic!("{verdict:?}"),
    }
}

fn read() -> Sealed<Call> {
    let call = Call::parse("read", &serde_json::json!({"path": "a"})).unwrap();
    allowed(call, &[Fact::Path(file("/w/a"))], Preset::ReadOnly).sealed
}

#[test]
fn what_was_sealed_arrives_byte_for_byte() {
    let odd = OsString::from_vec(b"\xff\x80 a\n".to_vec());
    let launch = Launch::new(
        vec!["make".into(), odd],
        ".".into(),
        vec![],
        vec!["/b".into()],
    )
    .unwrap();
    let facts = [Fact::Path(folder("/w")), program("make", "/b/make")];
    for sealed in [
        read(),
        allowed(Call::Exec(launch), &facts, Preset::Exec).sealed,
    ] {
        let bytes = sealed.encode();
        let received = Sealed::received(&bytes).unwrap();
        assert_eq!(received, sealed);
        assert_eq!(received.digest(), sealed.digest());
    }
}

#[test]
fn the_digest_tells_identities_apart() {
    let call = Call::parse("read", &serde_json::json!({"path": "a"})).unwrap();
    let mut other = file("/w/a");
    other.inode += 1;
    let other = allowed(call, &[Fact::Path(other)], Preset::ReadOnly).sealed;
    assert_ne!(read().digest(), other.digest());
}

#[test]
fn g10_other_bytes_are_refused() {
    for bytes in [&b""[..], b"{}", b"\xff", b"[]", &[b'['; 20_000]] {
        assert!(matches!(
            Sealed::received(bytes),
            Err(ReceiveError::Shape(_))
        ));
    }
    let mut sealed: Value = serde_json::from_slice(&read().encode()).unwrap();
    sealed["call"]["read"]["limit"] = 1_000_000_000.into();
    assert!(matches!(
        Sealed::received(sealed.to_string().as_bytes()),
        Err(ReceiveError::Limit(_))
    ));
}
