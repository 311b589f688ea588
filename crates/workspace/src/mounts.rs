//! Whether something is mounted in a folder, in this process's view.

use std::path::Path;

use std::os::unix::ffi::OsStrExt as _;

/// Whether a mount point lies in a folder. What can't be told is.
pub(crate) fn is_mounted_below(folder: &Path) -> bool {
    let Ok(table) = std::fs::read("/proc/self/mountinfo") else {
        return true;
    };
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .any(|point| Path::new(std::ffi::OsStr::from_bytes(&unescaped(point))).starts_with(&folder))
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (byte, code) {
            (b'\\', Some(code)) => {
                plain.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                plain.push(*byte);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_found_below_their_folder() {
        assert!(is_mounted_below(Path::new("/")));
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_mounted_below(folder.path()));
        assert_eq!(unescaped(b"/a\\040b\\134c\\"), b"/a b\\c\\");
    }
}
