//! Programs that read and compute, as data.

/// What the operands of a program are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
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
pub(super) struct Program {
    pub(super) names: &'static str,
    pub(super) operands: Operands,
    pub(super) text: &'static str,
    pub(super) reads: &'static [&'static str],
    pub(super) writes: &'static [&'static str],
    pub(super) runs: &'static [&'static str],
    /// Options that make the operands files that are changed.
    pub(super) changes: &'static [&'static str],
}

const fn program(names: &'static str, operands: Operands) -> Program {
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

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        text: "I ignore w width block-size T tabsize color format hide indicator-style quoting-style sort time time-style",
        ..program("ls dir vdir eza exa lsd", Operands::ReadsHere)
    },
    Program {
        text: "L P I filelimit charset H T",
        writes: &["o"],
        ..program("tree", Operands::ReadsHere)
    },
    Program {
        text: "d t B max-depth threshold block-size exclude time-style time",
        reads: &["X", "exclude-from", "files0-from"],
        ..program("du dust ncdu", Operands::ReadsHere)
    },
    program(
        "df free uptime uname nproc arch lscpu lsblk lsusb lspci lsmod vmstat iostat id whoami \
            groups who w users tty locale getconf cal ncal sleep clear reset tput stty which \
            whereis ps pgrep pstree pidof lsof findmnt getenforce ldd-none expr factor numfmt \
            getopt errno uuidgen mcookie pidwait logname sw_vers lsb_release runlevel rustfmt-none \
            figlet banner fortune tldr-none hostid nl-none ip ifconfig route ss netstat getent \
            dircolors units dc-none bc-none qalc lsns taskset-none fuser ulimit say",
        Operands::Text,
    ),
    Program {
        text: "c printf format f-x",
        ..program(
            "stat file readlink realpath namei getfattr getfacl lsattr getcap pathchk",
            Operands::Reads,
        )
    },
    Program {
        text: "b c d f s bytes characters delimiter fields output-delimiter",
        ..program("cut", Operands::Reads)
    },
    Program {
        reads: &["files0-from", "f"],
        writes: &["o", "output", "out", "report-file"],
        runs: &["plugin", "extract-with"],
        ..program(
            "wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum sum shasum \
            md5 strings zcat gzcat bzcat xzcat zstdcat lz4cat hexyl expand unexpand tsort size nm \
            objdump readelf ldd-x otool dwarfdump plutil-none exiftool-none pdfinfo pdftotext-none \
            xmllint tidy-none yamllint jsonlint hadolint actionlint cloc tokei scc sloccount \
            ctags-none jsonnet-none csvlook csvstat csvcut xsv gron htmlq pup",
            Operands::Reads,
        )
    },
    Program {
        text: "t k S T-x parallel batch-size field-separator key buffer-size sort",
        reads: &["files0-from", "random-source"],
        writes: &["o", "output", "T", "temporary-directory"],
        runs: &["compress-program"],
        ..program("sort gsort", Operands::Reads)
    },
    Program {
        text: "n i head-count input-range",
        reads: &["random-source"],
        writes: &["o", "output"],
        ..program("shuf", Operands::Reads)
    },
    Program {
        text: "f s w skip-fields skip-chars check-chars",
        ..program("uniq", Operands::ReadWrite)
    },
    Program {
        text: "t d delimiters w width separator output-separator",
        ..program(
            "join paste comm fold fmt pr column colrm look",
            Operands::Reads,
        )
    },
    Program {
        text: "U C c u I F L S W label width unified context ignore-matching-lines palette color tabsize horizon-lines starting-file exclude x",
        reads: &["X", "exclude-from", "from-file", "to-file"],
        writes: &["o", "output"],
        runs: &["diff-program"],
        ..program(
            "diff cmp colordiff sdiff diff3 icdiff diffstat delta-none wdiff",
            Operands::Reads,
        )
    },
    Program {
        text: "e m A B C d D regexp max-count after-context before-context context include exclude exclude-dir label binary-files directories devices color colour",
        reads: &["f", "file", "exclude-from"],
        runs: &["filter", "view", "pager"],
        ..program(
            "grep egrep fgrep zgrep bzgrep xzgrep rgrep ggrep pcregrep pcre2grep ugrep ug",
            Operands::Pattern,
        )
    },
    Program {
        text: "e m A B C g t T j M r E d regexp max-count after-context before-context context glob iglob type type-not type-add threads replace encoding max-depth max-filesize sort sortr color colors pre-glob engine max-columns path-separator field-match-separator context-separator",
        reads: &["f", "file", "ignore-file"],
        runs: &["pre", "hostname-bin"],
        ..program("rg ripgrep", Operands::Pattern)
    },
    Program {
        text: "A B C G m depth",
        reads: &["p", "path-to-ignore"],
        runs: &["pager"],
        ..program(
            "ag ack ack-grep pt ast-grep sg-search semgrep-none sift",
            Operands::Pattern,
        )
    },
    Program {
        text: "indent tab arg argjson",
        reads: &["f", "from-file", "L", "slurpfile", "rawfile"],
        ..program("jq gojq jaq jql dasel tomlq xq", Operands::Pattern)
    },
    Program {
        text: "I o p indent output-format input-format s split-exp split-exp-file expression",
        changes: &["i", "inplace"],
        ..program("yq", Operands::Pattern)
    },
    Program {
        text: "l a b n C lines bytes number suffix-length additional-suffix",
        runs: &["filter"],
        ..program("split", Operands::Reads)
    },
    Program {
        text: "b n digits suffix-format",
        writes: &["f", "prefix"],
        ..program("csplit", Operands::Reads)
    },
    Program {
        text: "p D F strip r reject-file-x i-x B V z fuzz",
        reads: &["i", "input"],
        writes: &["o", "output", "r", "reject-file", "d", "directory"],
        ..program("patch", Operands::Writes)
    },
    Program {
        text: "c l t n w line-length target-version config edition",
        reads: &["config-path"],
        ..program(
            "gofmt goimports rustfmt black ruff isort autopep8 yapf shfmt clang-format stylua taplo \
            dos2unix unix2dos buildifier nixfmt ktlint swiftformat",
            Operands::Writes,
        )
    },
    Program {
        text: "s S f x e P",
        ..program(
            "shellcheck bashate checkbashisms cppcheck codespell vale proselint write-good aspell \
            hunspell typos",
            Operands::Reads,
        )
    },
    Program {
        text: "f t from-code to-code",
        writes: &["o", "output"],
        ..program("iconv recode", Operands::Reads)
    },
    Program {
        text: "f t from to metadata V",
        reads: &[
            "template",
            "c",
            "css",
            "H",
            "include-in-header",
            "data-dir",
            "d",
            "defaults",
        ],
        writes: &["o", "output", "extract-media"],
        runs: &["F", "filter", "L", "lua-filter", "pdf-engine"],
        ..program("pandoc", Operands::Reads)
    },
    Program {
        writes: &["o", "f"],
        ..program("ctags etags gtags cscope", Operands::Reads)
    },
    Program {
        text: "e q",
        ..program("bc", Operands::Reads)
    },
];
