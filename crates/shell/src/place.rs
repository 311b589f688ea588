//! Where a path lands, told from its text alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use deputize_authority::{
    DEEPEST, HOME_STARTUP, MACHINE_STARTUP, PROTECTED, ProtectedKind, SecretRules, Set,
    protected_kind,
};

use crate::glob;
use crate::names::{GENERATED, GENERATED_PATTERNS, HOME_SECRETS, MACHINE_SECRETS, SECRET_NAMES};
use crate::value::{Field, Part, Taint};
use crate::world::World;

/// What lies at a path, as far as its text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A workspace as a whole: its root, or everything in the root.
    Whole,
    /// The history of a repository in the workspace.
    History,
    /// Something of git's own in the workspace.
    GitInternal,
    /// A path in the workspace that configures what later runs.
    Protected(ProtectedKind),
    /// Build output, caches and dependencies in the workspace: a tool makes them again.
    Generated,
    /// A secret in the workspace.
    SecretInside,
    /// Anything else in the workspace.
    Inside,
    /// Below a folder that may be read besides.
    Readable,
    /// Scratch space of the machine.
    Temp,
    /// A stream that keeps nothing: `/dev/null`, the terminal.
    Stream,
    /// A network connection spelled as a path.
    Connection,
    /// A device.
    Device,
    /// A file that a shell, a login or a timer runs.
    Startup,
    /// A secret outside.
    Secret,
    /// Anything else outside.
    Outside,
    /// It can't be told.
    Unknown,
}

/// A path that an effect is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As it was written, with what is unknown as dots.
    pub shown: String,
    /// Where it lands, if that can be told; patterns stand as they are.
    pub path: Option<String>,
    /// What lies there.
    pub place: Place,
    /// Whether it is a pattern that nearly every name matches.
    pub wide: bool,
    /// Whether it names more than one file.
    pub pattern: bool,
    /// Whether a secret of the workspace may be among the names that it matches, whatever else is.
    pub may_be_secret: bool,
}

impl Target {
    /// Whether a secret of the workspace is what lies there, or may be among the names.
    pub(crate) fn holds_secret(&self) -> bool {
        self.place == Place::SecretInside || self.may_be_secret
    }
}

/// Every class of secret counts here: which are allowed is the gate's business.
static SECRETS: LazyLock<SecretRules> = LazyLock::new(|| SecretRules::allowing(Set::none()));

/// Links that the line itself made: from where to where.
pub(crate) type Links = BTreeMap<String, String>;

/// Where a word lands when it is taken as a path.
pub(crate) fn target(field: &Field, cwd: Option<&str>, world: &World, links: &Links) -> Target {
    if field.has_guess() {
        // What it may be counts when it is bad, and proves nothing when it is good.
        let mut guessed = target(&field.guessed(), cwd, world, links);
        if !is_bad(guessed.place) {
            guessed.place = Place::Unknown;
        }
        return guessed;
    }
    let shown = field.shown();
    let text = pattern_text(field);
    let pattern = field.has_glob();
    let unknown = |place| Target {
        shown: shown.clone(),
        path: None,
        place,
        wide: false,
        pattern,
        may_be_secret: false,
    };
    let Some(text) = text else {
        return unknown(unknown_place(field, cwd, world, links));
    };
    if text.is_empty() {
        return unknown(Place::Unknown);
    }
    let absolute = if text.starts_with('/') {
        text
    } else {
        let Some(cwd) = cwd else {
            return unknown(Place::Unknown);
        };
        format!("{cwd}/{text}")
    };
    let path = normal(&absolute, cwd, links);
    let wide = pattern && path.rsplit('/').next().is_some_and(glob::is_wide);
    let place = place_of(&path, world);
    Target {
        may_be_secret: pattern && may_match_secret(&path, world),
        shown,
        place,
        wide,
        pattern,
        path: Some(path.replace('\\', "")),
    }
}

/// Where a plain path lands. It is no shell's word: nothing in it is a pattern, a variable or a home.
#[must_use]
pub fn land(path: &str, world: &World) -> Target {
    let absolute = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{}/{path}", world.cwd),
    };
    let landed = normal(&absolute, Some(&world.cwd), &Links::new());
    let escaped: String = landed
        .chars()
        .flat_map(|c| {
            matches!(c, '*' | '?' | '[' | '\\')
                .then_some('\\')
                .into_iter()
                .chain([c])
        })
        .collect();
    Target {
        shown: path.to_owned(),
        place: place_of(&escaped, world),
        path: Some(landed),
        wide: false,
        pattern: false,
        may_be_secret: false,
    }
}

/// The text with quoted pattern characters escaped; `None` when a part isn't known.
fn pattern_text(field: &Field) -> Option<String> {
    let mut all = String::new();
    for part in &field.parts {
        match part {
            Part::Lit {
                text,
                quoted: false,
            }
            | Part::Pattern(text) => all.push_str(text),
            Part::Lit { text, .. } => {
                for c in text.chars() {
                    if matches!(c, '*' | '?' | '[' | '\\') {
                        all.push('\\');
                    }
                    all.push(c);
                }
            }
            // A number or a date stands for a name.
            Part::Unknown(taint) if taint.has(Taint::PLAIN) => all.push('0'),
            Part::Guess(_) | Part::Unknown(_) => return None,
        }
    }
    Some(all)
}

fn is_bad(place: Place) -> bool {
    matches!(
        place,
        Place::Whole
            | Place::History
            | Place::Device
            | Place::Startup
            | Place::Secret
            | Place::Outside
            | Place::Connection
    )
}

/// A path of which only the beginning is known still lies outside when the beginning does.
fn unknown_place(field: &Field, cwd: Option<&str>, world: &World, links: &Links) -> Place {
    let prefix = field.prefix();
    let taint = field.taint();
    if prefix.is_empty() && taint.has(Taint::OUTSIDE) {
        return Place::Outside;
    }
    if prefix.is_empty() && taint.has(Taint::NAMES_SECRET) {
        return Place::SecretInside;
    }
    if prefix.is_empty() && taint.has(Taint::GENERATED) {
        return Place::Generated;
    }
    if prefix.is_empty() || prefix == "./" {
        let root = cwd.is_some_and(|cwd| roots(world).any(|root| root == cwd));
        if root && taint.has(Taint::ALL) {
            return Place::Whole;
        }
        let tracked = taint.has(Taint::INSIDE) && cwd.is_some_and(|cwd| is_inside(cwd, world));
        return if tracked {
            Place::Inside
        } else {
            Place::Unknown
        };
    }
    let absolute = match (prefix.starts_with('/'), cwd) {
        (true, _) => prefix.clone(),
        (false, Some(cwd)) => format!("{cwd}/{prefix}"),
        (false, None) => return Place::Unknown,
    };
    let Some((folder, _)) = absolute.rsplit_once('/') else {
        return Place::Unknown;
    };
    let folder = normal(folder, cwd, links);
    let may_lead_in = folder == "/"
        || roots(world)
            .any(|root| below(root, &folder).is_some() || below(&folder, root).is_some());
    if may_lead_in {
        return Place::Unknown;
    }
    match place_of(&format!("{}/x", folder.trim_end_matches('/')), world) {
        Place::Inside | Place::Readable | Place::Generated => Place::Unknown,
        place => place,
    }
}

fn roots(world: &World) -> impl Iterator<Item = &str> {
    world.writable.iter().map(String::as_str)
}

/// Whether a normal path is in a workspace, or is its root.
pub(crate) fn is_inside(path: &str, world: &World) -> bool {
    roots(world).any(|root| below(path, root).is_some())
}

/// The rest of a path below a folder; empty for the folder itself.
pub(crate) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}

/// A path without `.`, `..` and doubled slashes, through the links that the line made.
pub(crate) fn normal(absolute: &str, cwd: Option<&str>, links: &Links) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = absolute
        .strip_prefix("/proc/self/root")
        .or_else(|| absolute.strip_prefix("/proc/1/root"))
        .or_else(|| absolute.strip_prefix("/proc/thread-self/root"))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(absolute);
    let moved;
    let absolute = match (absolute.strip_prefix("/proc/self/cwd"), cwd) {
        (Some(rest), Some(cwd)) => {
            moved = format!("{cwd}{rest}");
            &moved
        }
        _ => absolute,
    };
    for part in absolute.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut path = format!("/{}", parts.join("/"));
    // Each link is followed once: what the line made can't be a longer chain than it has links.
    for _ in 0..links.len().min(8) {
        let hit = links
            .iter()
            .find_map(|(link, to)| below(&path, link).map(|rest| format!("{to}/{rest}")));
        match hit {
            Some(next) => path = normal(&next, None, &Links::new()),
            None => break,
        }
    }
    path
}

/// What lies at a normal path.
pub(crate) fn place_of(path: &str, world: &World) -> Place {
    if let Some(place) = system_place(path) {
        return place;
    }
    for root in roots(world) {
        if let Some(rest) = below(path, root) {
            return inside(rest);
        }
    }
    if is_secret_outside(path, world) {
        return Place::Secret;
    }
    if is_startup(path, world) {
        return Place::Startup;
    }
    if world
        .readable
        .iter()
        .any(|root| below(path, root).is_some())
    {
        return Place::Readable;
    }
    if ["/tmp", "/var/tmp", "/dev/shm"]
        .iter()
        .any(|temp| below(path, temp).is_some() && !keeps_home(path, temp, world))
    {
        return Place::Temp;
    }
    Place::Outside
}

/// Whether a path in scratch space is a home folder, lies in it, or holds it: a home is nobody's scratch,
/// wherever it is.
fn keeps_home(path: &str, temp: &str, world: &World) -> bool {
    let home = &world.home;
    home != temp
        && path != temp
        && below(home, temp).is_some()
        && (below(path, home).is_some() || below(home, path).is_some())
}

fn system_place(path: &str) -> Option<Place> {
    // Most paths begin otherwise than any of them.
    let may_be = matches!(
        path.as_bytes().get(1),
        Some(b'b' | b'd' | b'e' | b'p' | b'r' | b'v')
    );
    if may_be
        && MACHINE_SECRETS
            .iter()
            .any(|secret| below(path, secret).is_some())
    {
        return Some(Place::Secret);
    }
    if let Some(rest) = path.strip_prefix("/proc/") {
        let leaf = rest.rsplit('/').next().unwrap_or_default();
        let hidden = ["environ", "mem", "maps", "cmdline", "auxv", "stack"].contains(&leaf)
            && rest.contains('/')
            || rest.contains("/fd/")
            || rest.contains("/root")
            || rest.contains("/cwd");
        return Some(if hidden {
            Place::Secret
        } else {
            Place::Outside
        });
    }
    let rest = path.strip_prefix("/dev/")?;
    if rest == "shm" || rest.starts_with("shm/") {
        return Some(Place::Temp);
    }
    if rest.starts_with("tcp/") || rest.starts_with("udp/") {
        return Some(Place::Connection);
    }
    let streams = [
        "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom",
    ];
    let is_stream = streams.contains(&rest) || rest.starts_with("fd/");
    Some(if is_stream {
        Place::Stream
    } else {
        Place::Device
    })
}

fn inside(rest: &str) -> Place {
    if rest.is_empty() {
        return Place::Whole;
    }
    let parts: Vec<&str> = rest.split('/').collect();
    if parts
        .iter()
        .all(|part| glob::is_pattern(part) && glob::is_wide(part))
    {
        return Place::Whole;
    }
    // Where the part begins in the whole.
    let mut start = 0;
    for (at, part) in parts.iter().enumerate() {
        let is_git = part.eq_ignore_ascii_case(".git")
            || (part.starts_with('.') && glob::is_pattern(part) && glob::matches(part, ".git"));
        if is_git {
            return git_place(&parts[at + 1..]);
        }
        let from_here = &rest[start..];
        if let Some(kind) = protected_kind(Path::new(from_here)) {
            return Place::Protected(kind);
        }
        let near = parts.iter().skip(at).take(DEEPEST);
        if near.clone().any(|part| glob::is_pattern(part))
            && let Some(kind) = protected_pattern(&parts[at..])
        {
            return Place::Protected(kind);
        }
        start += part.len() + 1;
    }
    let name = parts.last().copied().unwrap_or_default();
    if SECRETS.denied(Path::new(rest)).is_some()
        || (glob::is_pattern(name) && name.starts_with('.') && glob::matches(name, ".env"))
    {
        return Place::SecretInside;
    }
    if parts.iter().any(|part| is_generated(part)) {
        return Place::Generated;
    }
    Place::Inside
}

/// Whether a pattern of names that begin with a dot matches the secret that most workspaces hold.
fn may_match_secret(path: &str, world: &World) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with('.') && glob::matches(name, ".env") && is_inside(path, world)
}

/// What configures later runs that a pattern matches by more than its stars.
fn protected_pattern(parts: &[&str]) -> Option<ProtectedKind> {
    let fits = |part: &str, name: &str| {
        let begins_alike = part
            .chars()
            .zip(name.chars())
            .next()
            .is_some_and(|(one, other)| one.eq_ignore_ascii_case(&other));
        part.eq_ignore_ascii_case(name)
            || glob::is_pattern(part) && begins_alike && glob::matches(part, name)
    };
    let row = PROTECTED.iter().find(|row| {
        let names: Vec<&str> = row.path.split('/').collect();
        names.len() <= parts.len()
            && parts
                .iter()
                .zip(&names)
                .any(|(part, _)| glob::is_pattern(part))
            && parts
                .iter()
                .zip(&names)
                .all(|(part, name)| fits(part, name))
    });
    row.map(|row| row.kind)
}

fn is_generated(part: &str) -> bool {
    let is_one = |pattern: &&str| !part.starts_with('*') && glob::matches(pattern, part);
    GENERATED.contains(&part)
        || GENERATED_PATTERNS.contains(&part)
        || GENERATED_PATTERNS.iter().any(is_one)
}

fn git_place(rest: &[&str]) -> Place {
    match rest.first().map(|first| first.to_lowercase()) {
        None => Place::History,
        Some(first) => {
            let history = [
                "objects",
                "refs",
                "logs",
                "head",
                "packed-refs",
                "index",
                "lfs",
            ];
            if glob::is_pattern(&first) || (history.contains(&first.as_str())) {
                return Place::History;
            }
            let path = format!(".git/{}", rest.join("/"));
            match protected_kind(Path::new(&path)) {
                Some(kind) => Place::Protected(kind),
                None => Place::GitInternal,
            }
        }
    }
}

fn is_secret_outside(path: &str, world: &World) -> bool {
    let in_home = home_rest(path, world);
    let listed = in_home.is_some_and(|rest| {
        HOME_SECRETS
            .iter()
            .any(|secret| below(rest, secret).is_some())
    });
    let name = path.rsplit('/').next().unwrap_or_default();
    let host_key = path.starts_with("/etc/ssh/ssh_host_") && !name.ends_with(".pub");
    let public = name.ends_with(".pub") || name == "known_hosts";
    let patterned = path.split('/').any(|part| {
        glob::is_pattern(part)
            && !glob::is_wide(part)
            && SECRET_NAMES
                .iter()
                .any(|secret| glob::matches(part, secret))
    }) || (path.starts_with("/etc/")
        && glob::is_pattern(name)
        && !glob::is_wide(name)
        && glob::matches(name, "shadow"));
    let private = (name.ends_with(".pem") || name.ends_with(".key"))
        && !path.starts_with("/etc/ssl/certs")
        && !path.starts_with("/usr/");
    listed
        || host_key
        || patterned
        || private
        || (!public && SECRETS.denied(Path::new(path)).is_some())
}

/// The rest of a path below somebody's home folder.
fn home_rest<'a>(path: &'a str, world: &World) -> Option<&'a str> {
    below(path, &world.home)
        .or_else(|| below(path, "/root"))
        .or_else(|| {
            path.strip_prefix("/home/")?
                .split_once('/')
                .map(|(_, rest)| rest)
        })
}

fn is_startup(path: &str, world: &World) -> bool {
    let machine = MACHINE_STARTUP
        .iter()
        .any(|row| below(path.trim_start_matches('/'), row.path).is_some());
    // What a shell obeys in a project it obeys at home all the more.
    let at_home = HOME_STARTUP.iter().chain(
        PROTECTED
            .iter()
            .filter(|row| matches!(row.kind, ProtectedKind::Startup | ProtectedKind::Editor)),
    );
    machine
        || home_rest(path, world)
            .is_some_and(|rest| at_home.clone().any(|row| below(rest, row.path).is_some()))
}
