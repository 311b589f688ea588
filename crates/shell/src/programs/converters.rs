//! Programs that make a file out of others and that aren't known further: they are asked about, and
//! where they write counts.

use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules;
use crate::value::{Out, Taint};

/// The last operand is written.
const LAST: &str = "ffmpeg avconv sox convert magick composite cwebp dwebp gifsicle optipng pngquant jpegtran \
    rsvg-convert inkscape gs ps2pdf pdftotext pdftoppm pdfunite qpdf pdftk mutool ebook-convert \
    wkhtmltopdf potrace heif-convert avifenc flac lame oggenc opusenc mp3gain soffice unoconv mmdc \
    protoc-none sass lessc-none tsc-none esbuild-none";

/// Options that name what is written.
const WRITES: [&str; 6] = ["o", "output", "out", "outfile", "outdir", "output-dir"];

pub(super) fn handler(name: &str) -> Option<Handler> {
    lists(LAST, name).then_some(convert as Handler)
}

fn convert(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::PROGRAM);
    let parsed = parse(
        call.args,
        "i o output out outfile outdir output-dir",
        Order::Any,
    );
    for file in parsed.values(&WRITES) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    if let Some((last, before)) = parsed.operands.split_last() {
        for file in before {
            // An option's value may stand here: only what lies outside says something.
            if file.prefix().contains('/') {
                machine.read_file(file, state);
            }
        }
        machine.path(Role::Write, last, state);
    }
    super::suspect_tail(machine, call.args, state);
    Out::Unknown(Taint::NONE)
}
