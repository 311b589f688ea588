//! What a person reads of a change (C2).

use std::fs;

use deputize_workspace::{Body, Sign};

use crate::scene::{KINDS, Scene};

fn body(scene: &Scene, path: &str) -> Body {
    let change = scene.change(path).unwrap();
    scene.copy().body(&change).unwrap()
}

/// C2: texts by line, links by target, other contents by name only.
#[test]
fn a_change_is_shown_as_what_it_is() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "1\n2\n3\n")
                .link("l", "a")
                .file("bin", b"\0\x01");
        });
        scene.edit("printf '1\\nII\\n3\\n4' > a; ln -sf b l; printf '\\0\\2' > bin; echo n > new; rm -f none");
        let Body::Text {
            hunks,
            added,
            removed,
        } = body(&scene, "a")
        else {
            panic!("a is text");
        };
        assert_eq!((added, removed), (2, 1), "{kind:?}");
        let signs: Vec<(Sign, &str)> = hunks[0]
            .lines
            .iter()
            .map(|line| (line.sign, line.text.raw()))
            .collect();
        assert_eq!(
            signs,
            [
                (Sign::Same, "1"),
                (Sign::Removed, "2"),
                (Sign::Added, "II"),
                (Sign::Same, "3"),
                (Sign::Added, "4"),
            ]
        );
        assert_eq!(body(&scene, "bin"), Body::Binary);
        let Body::Link { old, new } = body(&scene, "l") else {
            panic!("l is a link");
        };
        assert_eq!((old.unwrap().raw(), new.unwrap().raw()), ("a", "b"));
        // After it was applied, the old text is what was kept; after the person's edit it is gone.
        scene.apply();
        assert!(matches!(body(&scene, "a"), Body::Text { added: 2, .. }));
        scene.undo();
        fs::remove_dir_all(scene.copy().folder().join("undo")).unwrap();
        scene.person("a", "person");
        assert_eq!(body(&scene, "a"), Body::OldIsGone);
    }
}
