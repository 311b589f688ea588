//! How large an argument may be (G10). Each number has its reason.

/// The limits of tool arguments.
#[derive(Debug, Clone, Copy)]
pub struct Limits;

impl Limits {
    /// Bytes of a path: the kernel's PATH_MAX. A longer path can't be opened in one call.
    pub const PATH: usize = 4096;
    /// Bytes of a search pattern. Compiling a regular expression costs a multiple of its length.
    pub const PATTERN: usize = 4096;
    /// Bytes of a glob. Longer ones are lists of alternatives, better sent as several calls.
    pub const GLOB: usize = 1024;
    /// Terms of a ranked search. More don't make a ranking better.
    pub const TERMS: usize = 32;
    /// Bytes of one search term: longer than any identifier that people write.
    pub const TERM: usize = 256;
    /// Context lines around a match, on each side. Whoever wants more reads the file.
    pub const CONTEXT: u64 = 20;
    /// Results of a search that a call may ask for. The default is far smaller.
    pub const RESULTS: u64 = 5_000;
    /// Lines that one `read` call may ask for. Output stays bounded in bytes all the same.
    pub const LINES: u64 = 2_000;
    /// Bytes that one `write` puts into a file, and that one `edit` holds in its texts. A model can't
    /// write more in one answer.
    pub const CONTENT: usize = 1 << 20;
    /// Replacements in one `edit`. More are a rewrite.
    pub const EDITS: usize = 100;
    /// Bytes of a shell command. The kernel takes 128 KiB in one argument; a longer script belongs
    /// into a file.
    pub const COMMAND: usize = 64 << 10;
    /// Seconds that a shell command gets when the call names no time: builds and tests of most
    /// projects.
    pub const COMMAND_SECONDS: u64 = 120;
    /// Seconds that a shell command may ask for. A model waits for it.
    pub const COMMAND_SECONDS_MOST: u64 = 600;
    /// Seconds that a look at a repository gets: some seconds in a large one, and no hang.
    pub const GIT_SECONDS: u64 = 60;
    /// Bytes of a revision: longer than any name that people write.
    pub const REVISION: usize = 256;
    /// Paths of one look at a repository. More are better named by their folder.
    pub const GIT_PATHS: usize = 64;
    /// Commits of one `git log` when the call names no limit.
    pub const COMMITS_SHOWN: u64 = 20;
    /// Commits that one `git log` may ask for. Output stays bounded in bytes all the same.
    pub const COMMITS: u64 = 1_000;
    /// Arguments of a program: far above what people type, far below what slows a verdict.
    pub const ARGUMENTS: usize = 65_536;
    /// Bytes of all arguments of a program together. The kernel takes 2 MiB at most, environment
    /// included.
    pub const ARGUMENT_BYTES: usize = 1 << 20;
    /// Environment names, and folders to look a program up in.
    pub const NAMES: usize = 256;
}
