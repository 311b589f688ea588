//! How much hostile text is looked at (G10). What is above a limit is never allowed, and what was
//! found below it still counts.

/// The longest line that is parsed: real lines have 300 bytes, and parsing is above linear.
pub const MAX_BYTES: usize = 64 * 1024;
/// How deep `$(`, `<(`, `(` and backticks may lie in each other: parsing them is cubic.
pub const MAX_NESTING: usize = 16;
/// How many substitutions a line may hold in all, since quoting can hide how deep they lie.
pub const MAX_SUBSTITUTIONS: usize = 40;
/// How deep any bracket or compound may lie: our own walk and the parser's recurse.
pub const MAX_COMPOUND: usize = 48;
/// How many opening brackets and compound words a line may hold in all, for the same reason.
pub const MAX_OPENINGS: usize = 512;
/// Here-documents of one text: the other parser looks for the end of each anew.
pub const MAX_HERE: usize = 64;
/// Operators of a text that holds arithmetic or a condition: the parser recurses on them, unbounded.
pub const MAX_OPERATORS: usize = 256;
/// Commands of one text: the parser makes a tree of them that is as deep as the line is long.
pub const MAX_COMMANDS: usize = 1_500;
/// How many times text found in a line may be parsed as code again, one inside the other.
pub const MAX_DEPTH: usize = 12;
/// Steps of evaluation for one line; a step is a command, a word or a part of one.
pub const MAX_STEPS: usize = 6_000;
/// Bytes that are parsed for one line in all, with everything that is found inside.
pub const MAX_PARSED: usize = 192 * 1024;
/// Words that braces may make of one.
pub const MAX_BRACES: usize = 64;
/// Times that a loop over known words is walked.
pub const MAX_LOOPS: usize = 24;
/// The longest text that a word or an output is known as: what is fed to a shell is shorter.
pub const MAX_VALUE: usize = 16 * 1024;
/// The longest text that a variable is known as: doubling one must not fill the memory.
pub const MAX_VARIABLE: usize = 2 * 1024;
/// Variables that are known at once, since branches copy them.
pub const MAX_VARIABLES: usize = 64;
/// Words that are taken for a command which an unknown program may run: each may be tried several times.
pub const MAX_TAIL: usize = 128;
/// Effects that are kept of one line.
pub const MAX_EFFECTS: usize = 512;
/// Pieces that a line which can't be parsed is cut into to look for plain danger.
pub const MAX_PIECES: usize = 512;
