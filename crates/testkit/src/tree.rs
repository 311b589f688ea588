//! Workspaces for tests: friendly, large and hostile ones.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Lays out a folder, entry by entry. Folders on the way are made.
#[derive(Debug)]
pub struct Tree<'a> {
    root: &'a Path,
}

impl<'a> Tree<'a> {
    /// Starts at a folder that exists.
    #[must_use]
    pub fn at(root: &'a Path) -> Self {
        Self { root }
    }

    /// A file with a text.
    pub fn file(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.make(path.as_ref()), text).unwrap();
        self
    }

    /// A file that can be executed.
    pub fn program(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        let path = path.as_ref();
        self.file(path, text);
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// An empty folder.
    pub fn folder(&self, path: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.root.join(path)).unwrap();
        self
    }

    /// A symbolic link; the target is taken as it is.
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        symlink(target, self.make(path.as_ref())).unwrap();
        self
    }

    /// Two links, `path` and `path-back`, that point at each other.
    pub fn link_loop(&self, path: &str) -> &Self {
        let back = format!("{path}-back");
        let name = |path: &str| PathBuf::from(Path::new(path).file_name().unwrap());
        self.link(path, name(&back)).link(&back, name(path))
    }

    /// A FIFO that nobody writes to: opening it to read waits for ever.
    pub fn fifo(&self, path: impl AsRef<Path>) -> &Self {
        let path = self.make(path.as_ref());
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        self
    }

    /// A file of `bytes` zeros that takes no room on the disk.
    pub fn sparse(&self, path: impl AsRef<Path>, bytes: u64) -> &Self {
        let file = fs::File::create(self.make(path.as_ref())).unwrap();
        file.set_len(bytes).unwrap();
        self
    }

    /// A small library with limits to look for, an ignored folder, a secret and a picture.
    pub fn small_project(&self) -> &Self {
        self.file(
            "README.md",
            "# Parcel\n\nSends parcels. Limits are in `src/limits.rs`.\n",
        )
        .file(
            "Cargo.toml",
            "[package]\nname = \"parcel\"\nversion = \"0.1.0\"\n",
        )
        .file(
            "src/lib.rs",
            "//! Sends parcels.\n\nmod limits;\nmod send;\n",
        )
        .file(
            "src/limits.rs",
            "//! Limits of a parcel.\n\n/// Heaviest parcel, in grams.\n\
             pub const MAX_WEIGHT: u32 = 31_500;\n\n\
             /// Whether a parcel is within the weight limit.\n\
             pub fn within_weight_limit(grams: u32) -> bool {\n    grams <= MAX_WEIGHT\n}\n",
        )
        .file(
            "src/send.rs",
            "use crate::limits::within_weight_limit;\n\npub fn send(grams: u32) -> bool {\n    \
             within_weight_limit(grams)\n}\n",
        )
        .file(".gitignore", "/target\n.env\n")
        .file(
            "target/debug/out.txt",
            "within_weight_limit in a build product\n",
        )
        .file(".env", "PARCEL_TOKEN=none\n")
        .file(".env.example", "PARCEL_TOKEN=\n")
        .file("docs/parcel.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
    }

    fn make(&self, path: &Path) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

/// Files with names that tools, terminals and parsers stumble over, each holding its number.
///
/// Returns the names, which are single path segments.
pub fn odd_names(root: &Path) -> Vec<OsString> {
    let names: [&[u8]; 16] = [
        b" ",
        b" leading and trailing ",
        b"-rf",
        b"--help",
        b"a\nb",
        b"a\tb",
        b"a\x1b[31mred",
        b"\x1b]0;title\x07",
        b"$(touch pwned)",
        b"'\"`;&|<>*?[]{}!#~\\",
        "\u{202e}txt.exe".as_bytes(),
        "zero\u{200b}width".as_bytes(),
        "e\u{301} and \u{e9}".as_bytes(),
        "日本🦀".as_bytes(),
        b"\xff\xfe not UTF-8",
        b"...",
    ];
    let mut names: Vec<OsString> = names
        .iter()
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect();
    // The longest name that file systems take.
    names.push("n".repeat(255).into());
    for (index, name) in names.iter().enumerate() {
        fs::write(root.join(name), format!("{index}\n")).unwrap();
    }
    names
}

/// A large tree with one needle in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeTree {
    /// How many files there are.
    pub files: usize,
    /// The one file that defines [`LargeTree::SYMBOL`], relative to the root.
    pub needle: PathBuf,
    /// The line of the definition, from 1.
    pub line: usize,
}

impl LargeTree {
    /// The function that only the needle defines.
    pub const SYMBOL: &'static str = "reconcile_settlement_window";
}

/// Words that the generated sources are made of.
const WORDS: [&str; 16] = [
    "account", "balance", "batch", "cursor", "digest", "entry", "filter", "ledger", "merge",
    "offset", "page", "queue", "record", "shard", "token", "window",
];

/// Files in one folder of a large tree, as in a repository of that size.
const FILES_PER_FOLDER: usize = 50;

/// Writes `files` small source files below `root`; the same seed makes the same tree.
pub fn large_tree(root: &Path, files: usize, seed: u64) -> LargeTree {
    let mut random = Random(seed);
    let needle = random.below(files);
    let mut tree = LargeTree {
        files,
        needle: PathBuf::new(),
        line: 0,
    };
    let mut text = String::new();
    for index in 0..files {
        let number = index / FILES_PER_FOLDER;
        let folder = PathBuf::from(format!("part{:02}/unit{:03}", number / 50, number % 50));
        if index % FILES_PER_FOLDER == 0 {
            fs::create_dir_all(root.join(&folder)).unwrap();
        }
        let path = folder.join(format!("{}_{index}.rs", random.word()));
        text.clear();
        for function in 0..4 {
            let (a, b, c) = (random.word(), random.word(), random.word());
            let _ = writeln!(text, "/// Takes a {a} from the {b}.");
            let _ = writeln!(text, "pub fn {a}_{b}_{function}({c}: u64) -> u64 {{");
            let _ = writeln!(text, "    {c} + {}\n}}\n", random.below(1_000));
        }
        if index == needle {
            tree.line = text.lines().count() + 1;
            tree.needle.clone_from(&path);
            let _ = writeln!(text, "pub fn {}() {{}}", LargeTree::SYMBOL);
        }
        fs::write(root.join(&path), &text).unwrap();
    }
    tree
}

/// SplitMix64: reproducible, and random enough for names.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % limit).unwrap()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_tree_is_reproducible_and_has_one_needle() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tree = large_tree(one.path(), 200, 7);
        assert_eq!(large_tree(two.path(), 200, 7), tree);
        let text = fs::read_to_string(two.path().join(&tree.needle)).unwrap();
        let line = text.lines().nth(tree.line - 1).unwrap();
        assert!(line.contains(LargeTree::SYMBOL));
    }

    #[test]
    fn every_kind_of_entry_is_what_it_says() {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        Tree::at(root)
            .small_project()
            .fifo("pipe")
            .link_loop("around")
            .sparse("huge", 1 << 30)
            .program("bin/run", "#!/bin/sh\n");
        assert!(
            fs::metadata(root.join("pipe"))
                .unwrap()
                .file_type()
                .is_fifo()
        );
        let around = fs::metadata(root.join("around")).unwrap_err();
        assert_eq!(around.raw_os_error(), Some(libc::ELOOP));
        let huge = fs::metadata(root.join("huge")).unwrap();
        assert_eq!((huge.len(), huge.blocks()), (1 << 30, 0));
        let program = fs::metadata(root.join("bin/run")).unwrap();
        assert_eq!(program.mode() & 0o111, 0o111);
    }

    #[test]
    fn odd_names_exist() {
        let folder = tempfile::tempdir().unwrap();
        let names = odd_names(folder.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), names.len());
    }
}
