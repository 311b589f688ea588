//! The tool `read`.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Outcome, World};

#[test]
fn lines_are_numbered_and_a_part_can_be_asked_for() {
    let mut world = World::new();
    world.file("a.txt", "one\n\ntwo\r\nthree");
    assert_snapshot!(world.text("read", json!({"path": "a.txt"})), @r"
         1	one
         2	
         3	two
         4	three
    ");
    assert_snapshot!(world.text("read", json!({"path": "./a.txt", "offset": 2, "limit": 2})), @r"
         2	
         3	two
    (more follows: continue with offset=4)
    ");
    assert_snapshot!(world.text("read", json!({"path": "@a.txt", "offset": 4})), @"     4	three");
    assert_eq!(
        world.refused("read", json!({"path": "a.txt", "offset": 5})),
        "past_end"
    );
}

#[test]
fn past_the_end_says_where_the_end_is() {
    let mut world = World::new();
    world.file("a", "1\n2\n");
    let Outcome::Failed(failure) = world.call("read", json!({"path": "a", "offset": 3})) else {
        panic!("not failed");
    };
    assert_eq!(
        failure.message,
        "line 3 is past the end: the file has 2 lines"
    );
    world.file("b", "1\n2");
    let Outcome::Failed(failure) = world.call("read", json!({"path": "b", "offset": 9})) else {
        panic!("not failed");
    };
    assert_eq!(
        failure.message,
        "line 9 is past the end: the file has 2 lines"
    );
}

#[test]
fn an_empty_file_says_so() {
    let mut world = World::new();
    world.file("a", "");
    assert_eq!(
        world.text("read", json!({"path": "a"})),
        "(the file is empty)\n"
    );
}

#[test]
fn output_is_bounded_in_lines_and_bytes_and_says_how_to_go_on() {
    let mut world = World::new();
    world.file("many", "x\n".repeat(3_000));
    let text = world.text("read", json!({"path": "many"}));
    assert!(text.ends_with("  2000\tx\n(more follows: continue with offset=2001)\n"));
    world.file("wide", format!("{}\n", "y".repeat(999)).repeat(100));
    let text = world.text("read", json!({"path": "wide"}));
    assert!(text.len() < 52_000, "{}", text.len());
    assert!(
        text.ends_with("(more follows: continue with offset=51)\n"),
        "{}",
        &text[text.len() - 60..]
    );
    // Going on where it says loses nothing.
    let text = world.text("read", json!({"path": "wide", "offset": 51}));
    assert!(text.starts_with("    51\ty") && text.contains("\n   100\ty"));
}

#[test]
fn long_lines_are_cut_with_a_mark() {
    let mut world = World::new();
    world.file("a", format!("{}\nnext\n", "ä".repeat(5_000)));
    let text = world.text("read", json!({"path": "a"}));
    assert!(text.contains(&format!("{}…\n     2\tnext\n", "ä".repeat(2_000))));
    assert!(text.ends_with("(1 line was cut after 2000 characters)\n"));
    world.file("b", "b".repeat(2_000));
    assert!(!world.text("read", json!({"path": "b"})).contains('…'));
}

#[test]
fn binary_files_are_described() {
    let mut world = World::new();
    world.file("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    assert_eq!(
        world.text("read", json!({"path": "a.png"})),
        "(not text: a PNG image, 16 bytes)\n"
    );
    world.file("b", b"text\0");
    assert_eq!(
        world.text("read", json!({"path": "b"})),
        "(not text: binary data of an unknown type, 5 bytes)\n"
    );
}

#[test]
fn bytes_that_are_not_text_are_shown_and_counted() {
    let mut world = World::new();
    world.file("a", b"\xef\xbb\xbfok\nbad \xff\xfe\n\x1b[31mred\n");
    assert_snapshot!(world.text("read", json!({"path": "a"})), @r"
         1	ok
         2	bad ��
         3	\u{1b}[31mred
    (1 line holds bytes that aren't UTF-8, shown as U+FFFD)
    ");
}

/// G10: the size of a file costs neither memory nor, where it isn't asked for, time.
#[test]
fn g10_a_file_of_a_gigabyte_is_read_in_bounded_memory_and_time() {
    let mut world = World::new();
    let mut file = File::create(world.path("huge.log")).unwrap();
    file.write_all("a line of the head\n".repeat(1_000).as_bytes())
        .unwrap();
    file.set_len(1 << 30).unwrap();
    let before = peak_memory();
    let started = Instant::now();
    let text = world.text("read", json!({"path": "huge.log", "limit": 3}));
    assert!(text.ends_with("(more follows: continue with offset=4)\n"));
    // The hole is one line of NULs without an end.
    let text = world.text("read", json!({"path": "huge.log", "offset": 1_000}));
    assert!(text.starts_with("  1000\ta line of the head\n  1001\t\\u{0}"));
    assert!(text.ends_with("(1 line was cut after 2000 characters)\n"));
    assert_eq!(
        world.refused("read", json!({"path": "huge.log", "offset": 5_000})),
        "past_end"
    );
    assert!(
        world
            .text("grep", json!({"pattern": "nowhere"}))
            .contains("isn't text was skipped")
    );
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    // Other tests of this process use memory meanwhile: far less than the file has.
    let grown = peak_memory() - before;
    assert!(grown < 200 << 10, "{grown} KiB");
}

/// The most memory that this process had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn something_missing_is_not_found() {
    let mut world = World::new();
    assert_eq!(
        world.refused("read", json!({"path": "no/such"})),
        "not_found"
    );
    world.file("a", "x");
    assert_eq!(world.refused("read", json!({"path": "a/b"})), "not_found");
    assert_eq!(
        world.refused("read", json!({"path": "."})),
        "path.not_a_file"
    );
}
