//! The whole way, with every provider: a failing test, a child that fixes it in a copy, a check, and a
//! person who applies and takes back (N4, D1, C2, C4).

use std::fs;

use deputize_testkit::{Provider, Reply, Said, Speech};
use serde_json::json;

use crate::providers::model_of;
use crate::scene::{parsed, scene};

const BROKEN: &str = "sum() { echo $(($1 - $2)); }\n";
const FIXED: &str = "sum() { echo $(($1 + $2)); }\n";

/// N4, D1, C2, C4: whoever answers, the failing test passes in a copy; `apply` brings the change and
/// `undo` takes it back.
#[test]
fn a_child_of_every_provider_makes_the_test_pass() {
    for speech in Speech::ALL {
        let env = scene();
        env.lay(|tree| {
            tree.file("sum.sh", BROKEN).file(
                "test.sh",
                ". ./sum.sh\n[ \"$(sum 2 3)\" = 5 ] || { echo FAIL; exit 1; }\n",
            );
        });
        let edit = json!({ "path": "sum.sh", "edits": [{ "old": "$1 - $2", "new": "$1 + $2" }] });
        let turns = [
            Said::call("bash", &json!({ "command": "sh test.sh" })),
            Said::call("edit", &edit),
            Said::call("bash", &json!({ "command": "sh test.sh" })),
            Said::text("The sum was a difference; the test passes now."),
        ];
        let replies: Vec<Reply> = turns
            .iter()
            .enumerate()
            .map(|(at, said)| speech.turn(at, said))
            .collect();
        let provider = Provider::playing(replies);
        let (model, base, key) = model_of(speech);
        let outcome = env
            .call([
                "run",
                "--json",
                "--model",
                model,
                "--allow",
                "shell",
                "--check",
                "sh test.sh",
                "Make the failing test pass",
            ])
            .env(base, provider.url())
            .env(key, "test-key-0123456789")
            .run();
        let result = parsed(&outcome);
        assert_eq!(result["status"], "ok", "{speech:?} {outcome}");
        assert_eq!(result["checks"][0]["outcome"], "passed", "{speech:?}");
        let bodies = provider.bodies();
        assert!(bodies[1].to_string().contains("FAIL"), "{speech:?}");
        let file = env.workspace().join("sum.sh");
        let text = || fs::read_to_string(&file).unwrap();
        assert_eq!(text(), BROKEN, "{speech:?}: not before it is applied");
        let run = result["run"].as_str().unwrap();
        let shown = env.run(["diff", run]).expect_code(0);
        assert!(
            shown.out().contains("+sum() { echo $(($1 + $2)); }"),
            "{shown}"
        );
        let _ = env.run(["apply", "--yes", run]).expect_code(0);
        assert_eq!(text(), FIXED, "{speech:?}");
        let _ = env.run(["undo", "--yes", run]).expect_code(0);
        assert_eq!(text(), BROKEN, "{speech:?}");
        let _ = env.run(["discard", "--yes", run]).expect_code(0);
    }
}
