//! What a file that isn't text probably is, by its first bytes.

/// First bytes and what they tell, the longer ones first where two begin alike.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program or library"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF container (WebP, WAV or AVI)"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or a document in one"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"\xfd7zXZ\x00", "XZ data"),
    (b"BZh", "bzip2 data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"MZ", "a Windows program"),
    (b"!<arch>\n", "a static library"),
    (b"wOF2", "a WOFF2 font"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

/// Describes data that isn't text.
pub(crate) fn describe_binary(head: &[u8]) -> &'static str {
    SIGNATURES
        .iter()
        .find(|(signature, _)| head.starts_with(signature))
        .map_or("binary data of an unknown type", |(_, what)| what)
}
