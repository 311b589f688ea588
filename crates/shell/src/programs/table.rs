//! Programs that read and compute: which options and operands are paths.

use super::{Handler, input_taint};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

/// What the operands of a program are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Text: no path is among them.
    Text,
    /// Files that are read.
    Reads,
    /// Files that are read; without any, the working folder.
    ReadsHere,
    /// A pattern, then files that are read; without any, the working folder or the input.
    Pattern,
    /// Files that are changed.
    Writes,
    /// A file that is read, then one that is written.
    ReadWrite,
}

/// A program: names, options with text, options with a path that is read, with one that is written,
/// with a command.
struct Program {
    names: &'static [&'static str],
    operands: Operands,
    text: &'static str,
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    runs: &'static [&'static str],
    /// Options that make the operands files that are changed.
    changes: &'static [&'static str],
}

const fn program(names: &'static [&'static str], operands: Operands) -> Program {
    Program {
        names,
        operands,
        text: "",
        reads: &[],
        writes: &[],
        runs: &[],
        changes: &[],
    }
}

static PROGRAMS: &[Program] = &[
    Program { text: "I ignore w width block-size T tabsize color format hide indicator-style quoting-style sort time time-style", ..program(&["ls", "dir", "vdir", "eza", "exa", "lsd"], Operands::ReadsHere) },
    Program { text: "L P I filelimit charset H T", writes: &["o"], ..program(&["tree"], Operands::ReadsHere) },
    Program { text: "d t B max-depth threshold block-size exclude time-style time", reads: &["X", "exclude-from", "files0-from"], ..program(&["du", "dust", "ncdu"], Operands::ReadsHere) },
    program(&["df", "free", "uptime", "uname", "nproc", "arch", "lscpu", "lsblk", "lsusb", "lspci", "lsmod", "vmstat", "iostat", "id", "whoami", "groups", "who", "w", "users", "tty", "locale", "getconf", "cal", "ncal", "sleep", "clear", "reset", "tput", "stty", "which", "whereis", "ps", "pgrep", "pstree", "pidof", "lsof", "findmnt", "getenforce", "ldd-none", "expr", "factor", "numfmt", "getopt", "errno", "uuidgen", "mcookie", "pidwait", "logname", "sw_vers", "lsb_release", "runlevel", "rustfmt-none", "figlet", "banner", "fortune", "tldr-none", "hostid", "nl-none", "ip", "ifconfig", "route", "ss", "netstat", "getent", "units", "dc-none", "bc-none", "qalc", "lsns", "taskset-none", "fuser", "ulimit", "say"], Operands::Text),
    Program { text: "c printf format f-x", ..program(&["stat", "file", "readlink", "realpath", "namei", "getfattr", "getfacl", "lsattr", "getcap", "pathchk"], Operands::Reads) },
    Program { text: "b c d f s bytes characters delimiter fields output-delimiter", ..program(&["cut"], Operands::Reads) },
    Program { reads: &["files0-from", "f"], writes: &["o", "output", "out", "report-file"], runs: &["plugin", "extract-with"], ..program(&["wc", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "b3sum", "cksum", "sum", "shasum", "md5", "strings", "zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "lz4cat", "hexyl", "expand", "unexpand", "tsort", "size", "nm", "objdump", "readelf", "ldd-x", "otool", "dwarfdump", "plutil-none", "exiftool-none", "pdfinfo", "pdftotext-none", "xmllint", "tidy-none", "yamllint", "jsonlint", "hadolint", "actionlint", "cloc", "tokei", "scc", "sloccount", "ctags-none", "jsonnet-none", "csvlook", "csvstat", "csvcut", "xsv", "gron", "htmlq", "pup"], Operands::Reads) },
    Program { text: "t k S T-x parallel batch-size field-separator key buffer-size sort", reads: &["files0-from", "random-source"], writes: &["o", "output", "T", "temporary-directory"], runs: &["compress-program"], ..program(&["sort", "gsort"], Operands::Reads) },
    Program { text: "n i head-count input-range", reads: &["random-source"], writes: &["o", "output"], ..program(&["shuf"], Operands::Reads) },
    Program { text: "f s w skip-fields skip-chars check-chars", ..program(&["uniq"], Operands::ReadWrite) },
    Program { text: "t d delimiters w width separator output-separator", ..program(&["join", "paste", "comm", "fold", "fmt", "pr", "column", "colrm", "look"], Operands::Reads) },
    Program { text: "U C c u I F L S W label width unified context ignore-matching-lines palette color tabsize horizon-lines starting-file exclude x", reads: &["X", "exclude-from", "from-file", "to-file"], writes: &["o", "output"], runs: &["diff-program"], ..program(&["diff", "cmp", "colordiff", "sdiff", "diff3", "icdiff", "diffstat", "delta-none", "wdiff"], Operands::Reads) },
    Program { text: "e m A B C d D regexp max-count after-context before-context context include exclude exclude-dir label binary-files directories devices color colour", reads: &["f", "file", "exclude-from"], runs: &["filter", "view", "pager"], ..program(&["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep", "rgrep", "ggrep", "pcregrep", "pcre2grep", "ugrep", "ug"], Operands::Pattern) },
    Program { text: "e m A B C g t T j M r E d regexp max-count after-context before-context context glob iglob type type-not type-add threads replace encoding max-depth max-filesize sort sortr color colors pre-glob engine max-columns path-separator field-match-separator context-separator", reads: &["f", "file", "ignore-file"], runs: &["pre", "hostname-bin"], ..program(&["rg", "ripgrep"], Operands::Pattern) },
    Program { text: "A B C G m depth", reads: &["p", "path-to-ignore"], runs: &["pager"], ..program(&["ag", "ack", "ack-grep", "pt", "ast-grep", "sg-search", "semgrep-none", "sift"], Operands::Pattern) },
    Program { text: "indent tab arg argjson", reads: &["f", "from-file", "L", "slurpfile", "rawfile"], ..program(&["jq", "gojq", "jaq", "jql", "dasel", "tomlq", "xq"], Operands::Pattern) },
    Program { text: "I o p indent output-format input-format", changes: &["i", "inplace"], ..program(&["yq"], Operands::Pattern) },
    Program { text: "l a b n C lines bytes number suffix-length additional-suffix", runs: &["filter"], ..program(&["split"], Operands::Reads) },
    Program { text: "b n digits suffix-format", writes: &["f", "prefix"], ..program(&["csplit"], Operands::Reads) },
    Program { text: "p D F strip r reject-file-x i-x B V z fuzz", reads: &["i", "input"], writes: &["o", "output", "r", "reject-file", "d", "directory"], ..program(&["patch"], Operands::Writes) },
    Program { text: "c l t n w line-length target-version config edition", reads: &["config-path"], ..program(&["gofmt", "goimports", "rustfmt", "black", "ruff", "isort", "autopep8", "yapf", "shfmt", "clang-format", "stylua", "taplo", "dos2unix", "unix2dos", "buildifier", "nixfmt", "ktlint", "swiftformat"], Operands::Writes) },
    Program { text: "s S f x e P", ..program(&["shellcheck", "bashate", "checkbashisms", "cppcheck", "codespell", "vale", "proselint", "write-good", "aspell", "hunspell", "typos"], Operands::Reads) },
    Program { text: "f t from-code to-code", writes: &["o", "output"], ..program(&["iconv", "recode"], Operands::Reads) },
    Program { text: "f t from to metadata V", reads: &["template", "c", "css", "H", "include-in-header", "data-dir", "d", "defaults"], writes: &["o", "output", "extract-media"], runs: &["F", "filter", "L", "lua-filter", "pdf-engine"], ..program(&["pandoc"], Operands::Reads) },
    Program { writes: &["o", "f"], ..program(&["ctags", "etags", "gtags", "cscope"], Operands::Reads) },
    Program { text: "e q", ..program(&["bc"], Operands::Reads) },
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    lookup(name).map(|_| run as Handler)
}

fn lookup(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let Some(program) = lookup(call.name) else {
        return Out::empty();
    };
    if program.operands == Operands::Text {
        if matches!(call.name, "which" | "uuidgen" | "nproc") {
            return Out::Unknown(Taint::NONE);
        }
        return Out::Unknown(Taint::NONE);
    }
    let mut valued = program.text.to_owned();
    for names in [program.reads, program.writes, program.runs] {
        for name in names {
            valued.push(' ');
            valued.push_str(name);
        }
    }
    let parsed = parse(call.args, &valued, Order::Any);
    let mut taint = Taint::NONE;
    for file in parsed.values(program.reads) {
        if file.known().as_deref() != Some("-") {
            taint = taint.and(machine.read_file(file, state).taint());
        }
    }
    for file in parsed.values(program.writes) {
        if file.known().as_deref() != Some("-") {
            machine.path(Role::Write, file, state);
        }
    }
    for code in parsed.values(program.runs) {
        ran_option(machine, code, state);
    }
    doubtful(machine, &parsed, program.operands == Operands::Pattern, state);
    let pattern_given = parsed.has(&["e", "regexp", "f", "file", "from-file", "files"]);
    if matches!(call.name, "jq" | "gojq" | "jaq" | "yq" | "xq" | "dasel")
        && parsed.operands.first().is_some_and(|filter| shows_environment(&filter.shown()))
    {
        machine.act(&rules::secret::ENVIRONMENT);
    }
    let mut operands = parsed.operands.as_slice();
    if program.operands == Operands::Pattern && !pattern_given {
        operands = operands.get(1..).unwrap_or_default();
    }
    let changes = program.operands == Operands::Writes || parsed.has(program.changes) && !program.changes.is_empty();
    let mut inside = true;
    for (at, operand) in operands.iter().enumerate() {
        if operand.known().as_deref() == Some("-") {
            taint = taint.and(input_taint(state).risky());
            continue;
        }
        if changes || program.operands == Operands::ReadWrite && at == 1 {
            machine.path(Role::Write, operand, state);
        } else {
            taint = taint.and(machine.read_file(operand, state).taint().risky());
        }
        let place = machine.target(operand, state).place;
        inside &= matches!(place, Place::Inside | Place::Whole | Place::Generated);
    }
    if operands.is_empty() {
        if program.operands == Operands::ReadsHere {
            machine.path(Role::Read, &Field::lit("."), state);
        } else {
            taint = taint.and(input_taint(state).risky());
        }
        let recursive = matches!(call.name, "rg" | "ag" | "ack") || parsed.has(&["r", "R", "recursive"]);
        if recursive && state.input.is_none() {
            machine.path(Role::Read, &Field::lit("."), state);
        }
    }
    if call.name == "split"
        && let Some(prefix) = parsed.operands.get(1)
    {
        machine.path(Role::Write, prefix, state);
    }
    if call.name == "ls" {
        // Names are relative to the folder, wherever that is.
        return Out::Unknown(match state.cwd.as_deref().map(|cwd| crate::place::is_inside(cwd, machine.world)) {
            Some(true) if inside => Taint::INSIDE,
            Some(false) => Taint::OUTSIDE,
            _ => Taint::NONE,
        });
    }
    let lists = parsed.has(&["l", "L", "files-with-matches", "files-without-match", "files"]) && program.operands == Operands::Pattern;
    if lists && inside {
        return Out::Unknown(Taint::INSIDE);
    }
    // A filter over names keeps them names of the workspace only when it keeps lines whole.
    let whole_lines = matches!(call.name, "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "shuf");
    if whole_lines && operands.is_empty() && input_taint(state).has(Taint::INSIDE) {
        return Out::Unknown(input_taint(state));
    }
    if whole_lines && operands.is_empty()
        && let Some(Out::Known(text)) = &state.input
    {
        return filtered(call.name, &parsed.operands, text);
    }
    if matches!(call.name, "wc") {
        return Out::Unknown(Taint::PLAIN);
    }
    Out::Unknown(taint.risky())
}

/// A value of an option that may be a file after all: programs that share a row don't share every
/// option. What lies outside counts.
pub(super) fn doubtful(machine: &mut Machine<'_>, parsed: &Parsed, has_pattern: bool, state: &State) {
    for given in &parsed.options {
        let Some(value) = &given.value else {
            continue;
        };
        if has_pattern && matches!(given.name.as_str(), "e" | "regexp" | "g" | "glob" | "include" | "exclude" | "exclude-dir" | "iglob" | "r") {
            continue;
        }
        let names_path = value.shown().len() > 1 && value.shown().contains('/');
        let place = machine.target(value, state).place;
        if names_path && matches!(place, Place::Secret | Place::Outside | Place::Startup | Place::Device) {
            machine.read_file(value, state);
        }
    }
}

/// What whole-line filters make of known text: one line stays what it is.
fn filtered(name: &str, operands: &[Field], text: &str) -> Out {
    let one = text.lines().count() <= 1;
    match name {
        "sort" | "uniq" | "shuf" if one => Out::Known(text.to_owned()),
        "grep" | "egrep" | "fgrep" => match operands.first().and_then(|pattern| pattern.known()) {
            Some(pattern) if pattern.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '-') => {
                Out::Known(text.lines().filter(|line| line.contains(pattern.as_ref())).map(|line| format!("{line}\n")).collect())
            }
            _ => Out::Known(text.to_owned()),
        },
        _ => Out::Known(text.to_owned()),
    }
}

/// Whether a filter reads the environment, or files that aren't named as operands.
fn shows_environment(filter: &str) -> bool {
    filter.contains("$ENV")
        || filter.contains("load(")
        || filter.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.' && c != '"').any(|word| matches!(word, "env" | "strenv" | "envsubst"))
}

/// A command in an option: followed, and asked about when it is a script.
fn ran_option(machine: &mut Machine<'_>, code: &Field, state: &State) {
    if code.known().is_some_and(|text| text.is_empty()) {
        return;
    }
    machine.act(&rules::opaque::OPTION);
    machine.code_word(code, &mut state.clone());
}
