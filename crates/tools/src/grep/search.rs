//! The search of a tree, and its report.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use deputize_authority::SecretRules;
use deputize_gate::{GrepOptions, GrepOutput, Kind};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, fstat};

use super::matcher::compile;
use super::one_file::{End, FileHits, ShownLine, Task, search, searcher};
use crate::beneath::{Beneath, Purpose, open};
use crate::limits::{FIND_RESULTS, GREP_LINES, SEARCH_TIME, SEARCHED_FILES};
use crate::name_glob::NameGlob;
use crate::output::{Draft, Room, ToolFailure, ToolOutput, count};
use crate::text::shown_path;
use crate::tree::{Flow, Found, Summary, walk};

/// Files that are searched before their results are put in order. Small enough that a search which
/// finds enough early stops early, large enough that threads seldom wait.
const BATCH: usize = 256;

/// Threads at most: beyond this, the kernel's locks cost more than is gained.
const MAX_THREADS: usize = 4;

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) glob: Option<&'a str>,
    pub(crate) options: &'a GrepOptions,
    pub(crate) output: GrepOutput,
}

/// Searches a file, or what lies below a folder.
pub(crate) fn grep(
    place: &Beneath<'_>,
    workspace: &Path,
    pattern: &Pattern<'_>,
    secrets: &SecretRules,
) -> Result<ToolOutput, ToolFailure> {
    let matcher = compile(pattern.pattern, pattern.options)?;
    let glob = pattern
        .glob
        .map(|glob| NameGlob::new(glob, place.canonical()))
        .transpose()?;
    let default_limit = match pattern.output {
        GrepOutput::Lines => GREP_LINES,
        GrepOutput::Files | GrepOutput::Count => FIND_RESULTS,
    };
    let limit = pattern.options.limit.unwrap_or(default_limit);
    let task = Task {
        matcher: &matcher,
        output: pattern.output,
        context: usize::try_from(pattern.options.context).unwrap_or(0),
        limit,
        deadline: Instant::now() + SEARCH_TIME,
    };
    let mut report = Report::new(place.canonical(), workspace, pattern.output, limit);
    if place.kind() == Kind::Folder {
        let (files, summary) = list(place, glob.as_ref(), secrets)?;
        search_all(&task, place.handle(), &files, &mut report);
        Ok(report.finish(&summary))
    } else {
        let hits = search(&task, &mut searcher(&task), place.file()?);
        report.add(Path::new(""), hits);
        Ok(report.finish(&Summary::default()))
    }
}

/// The files to search, relative to the folder.
fn list(
    place: &Beneath<'_>,
    glob: Option<&NameGlob>,
    secrets: &SecretRules,
) -> Result<(Vec<PathBuf>, Summary), ToolFailure> {
    let mut files = Vec::new();
    let mut summary = walk(place, secrets, |entry| {
        let is_wanted =
            entry.kind == FileType::RegularFile && glob.is_none_or(|glob| glob.matches(entry.path));
        if is_wanted {
            if files.len() == SEARCHED_FILES {
                return Flow::Enough;
            }
            files.push(entry.path.to_owned());
        }
        Flow::Continue
    })?;
    if files.len() == SEARCHED_FILES {
        summary.stopped = Some(format!(
            "only the first {SEARCHED_FILES} files were searched: name a smaller folder"
        ));
    }
    Ok((files, summary))
}

fn search_all(task: &Task<'_>, folder: &OwnedFd, files: &[PathBuf], report: &mut Report<'_>) {
    for batch in files.chunks(BATCH) {
        for (path, hits) in batch.iter().zip(search_batch(task, folder, batch)) {
            if report.add(path, hits) == Room::Full {
                return;
            }
        }
        if Instant::now() > task.deadline {
            report.is_late = true;
            return;
        }
    }
}

/// Searches some files; results come back in the files' order.
fn search_batch(task: &Task<'_>, folder: &OwnedFd, files: &[PathBuf]) -> Vec<FileHits> {
    let threads = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .clamp(1, MAX_THREADS)
        .min(files.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut searcher = searcher(task);
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(index) else {
                return results;
            };
            let hits = match open_file(folder, path) {
                Some(file) => search(task, &mut searcher, file),
                None => FileHits {
                    end: End::Unreadable,
                    ..FileHits::default()
                },
            };
            results.push((index, hits));
        }
    };
    let mut results = std::thread::scope(|scope| {
        // Where no thread can be had, this one does all the work.
        let others: Vec<_> = (1..threads)
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().unwrap_or_default());
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, hits)| hits).collect()
}

/// A regular file below the folder; the walk's word for it is not taken.
fn open_file(folder: &OwnedFd, path: &Path) -> Option<std::fs::File> {
    let handle = open(folder, path, Purpose::Content).ok()?;
    let kind = FileType::from_raw_mode(fstat(&handle).ok()?.st_mode);
    (kind == FileType::RegularFile).then(|| handle.into())
}

struct Report<'a> {
    start: &'a Path,
    workspace: &'a Path,
    output: GrepOutput,
    limit: u64,
    draft: Draft,
    /// Matching lines, or files, that are shown.
    shown: u64,
    room: Room,
    binary: u64,
    unreadable: u64,
    long_lines: u64,
    is_late: bool,
}

impl<'a> Report<'a> {
    fn new(start: &'a Path, workspace: &'a Path, output: GrepOutput, limit: u64) -> Self {
        Self {
            start,
            workspace,
            output,
            limit,
            draft: Draft::new(),
            shown: 0,
            room: Room::Added,
            binary: 0,
            unreadable: 0,
            long_lines: 0,
            is_late: false,
        }
    }

    /// Adds what one file gave. `Full` when no more is wanted.
    fn add(&mut self, path: &Path, hits: FileHits) -> Room {
        self.draft.files_seen += 1;
        match hits.end {
            End::Searched => {}
            End::Binary => self.binary += 1,
            End::Unreadable => self.unreadable += 1,
            End::LongLine => self.long_lines += 1,
            End::TimeUp => self.is_late = true,
        }
        if hits.count == 0 {
            return Room::Added;
        }
        if self.shown == self.limit {
            self.room = Room::Full;
            return self.room;
        }
        let path = match path.as_os_str().is_empty() {
            true => self.start.to_owned(),
            false => self.start.join(path),
        };
        let name = shown_path(&path, self.workspace);
        match self.output {
            GrepOutput::Files => self.result(&name),
            GrepOutput::Count => self.result(&format!("{name}:{}", hits.count)),
            GrepOutput::Lines => self.lines(&name, &hits.lines),
        }
        self.room
    }

    fn result(&mut self, line: &str) {
        self.room = self.draft.line(line);
        self.shown += u64::from(self.room == Room::Added);
    }

    fn lines(&mut self, name: &str, lines: &[ShownLine]) {
        let has_context = lines
            .iter()
            .any(|line| matches!(line, ShownLine::Context(..)));
        if has_context && !self.draft.is_empty() {
            self.room = self.draft.line("--");
        }
        for line in lines {
            match line {
                ShownLine::Match(..) if self.shown == self.limit => self.room = Room::Full,
                ShownLine::Match(number, text) => self.result(&format!("{name}:{number}:{text}")),
                ShownLine::Context(number, text) => {
                    self.room = self.draft.line(&format!("{name}-{number}-{text}"));
                }
                ShownLine::Gap => self.room = self.draft.line("--"),
            }
            if self.room == Room::Full {
                return;
            }
        }
    }

    fn finish(mut self, summary: &Summary) -> ToolOutput {
        let (one, many) = match self.output {
            GrepOutput::Lines => ("match", "matches"),
            GrepOutput::Files | GrepOutput::Count => ("file", "files"),
        };
        let is_cut = self.room == Room::Full || self.shown == self.limit;
        let found = if self.shown == 0 {
            Found::Nothing
        } else {
            Found::Something
        };
        if self.shown == 0 {
            let searched = count(self.draft.files_seen, "file", "files");
            self.draft.note(format!("nothing matches in {searched}"));
        } else if is_cut {
            self.draft.truncated = Some(format!(
                "{} shown, and there may be more: use a narrower pattern, `path` or `glob`, or a \
                 higher limit",
                count(self.shown, one, many)
            ));
        }
        if self.is_late {
            let seconds = SEARCH_TIME.as_secs();
            self.draft.note(format!(
                "the search ended early: more than {seconds} seconds"
            ));
        }
        for (number, one, many) in [
            (
                self.binary,
                "file that isn't text was",
                "files that aren't text were",
            ),
            (
                self.unreadable,
                "file that can't be read was",
                "files that can't be read were",
            ),
            (
                self.long_lines,
                "file with a huge line was",
                "files with huge lines were",
            ),
        ] {
            if number > 0 {
                self.draft
                    .note(format!("{} skipped", count(number, one, many)));
            }
        }
        summary.say(&mut self.draft, found);
        self.draft.finish()
    }
}
