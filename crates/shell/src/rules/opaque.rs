//! What can't be told from the line.

crate::rules::rules! { Opaque:
    PROGRAM "opaque.program" Ask
        "runs a program that isn't known here",
        "Approve this exact command once, or use a known tool";
        ["frobnicate --all", "./target/debug/app"]; ["ls"];
    SCRIPT "opaque.script" Ask
        "runs a script whose content isn't seen",
        "Read the script first, or run it in a boundary";
        ["./run.sh", "bash setup.sh", "source ./env.sh"]; ["bash -c 'ls src'"];
    CODE "opaque.code" Ask
        "runs code in another language",
        "Put it in a file that can be read, or use a known tool";
        ["python3 -c 'frob()'", "perl -e 'frob()'"]; ["python3 --version"];
    VALUE "opaque.value" Ask
        "runs a command that only shows when it runs",
        "Write the command out";
        ["eval \"$CMD\"", "$TOOL --version"]; ["T=ls; $T"];
    INTERACTIVE "opaque.interactive" Ask
        "opens a program that waits for somebody to type",
        "Use a command that ends by itself";
        ["vim src/main.rs", "top"]; ["man rm"];
    OPTION "opaque.option" Ask
        "uses an option that runs a program or reads code which isn't seen",
        "Leave the option out";
        ["rg --pre ./decode.sh foo", "awk -f prog.awk x"]; ["rg foo"];
    SYNTAX "opaque.syntax" Ask
        "isn't complete shell syntax, so what it does can't be told",
        "Write it in whole, one command at a time";
        ["ls ;; pwd", "echo \"unterminated"]; ["ls; pwd"];
    PART "opaque.part" Ask
        "has a part that can't be followed",
        "Say it in simpler words, one command at a time";
        ["echo {1..1000}"]; ["echo {1..4}"];
    LIMIT "opaque.limit" Ask
        "is larger or more nested than what is looked at",
        "Split it up";
        []; ["ls"];
    LETTERS "opaque.letters" Ask
        "spells a command or a host with letters that look like others",
        "Use plain letters";
        ["\u{217f}kdir x"]; ["echo '\u{e9}'"];
    HIDDEN "opaque.hidden" Ask
        "holds characters that aren't shown or that turn the text around",
        "Leave them out";
        ["ls \u{202e}/ fr- mr"]; ["echo '\u{2713}'"];
    SECOND_OPINION "opaque.second-opinion" Ask
        "reads differently to another parser",
        "Say it in simpler words, one command at a time";
        []; ["ls"];
}
