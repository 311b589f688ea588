//! What is known while a line is walked: variables, folder, input, files that it wrote.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use rable::Node;

use crate::limits::{MAX_VARIABLE, MAX_VARIABLES};
use crate::place::Links;
use crate::programs::is_heeded;
use crate::value::{Field, Out, Taint};
use crate::world::World;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    One(Field),
    Many(Vec<Field>),
    Unset,
}

/// Where output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    /// To whoever called.
    Caller,
    /// To a connection.
    Line,
}

/// What is known at one point of the walk.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) cwd: Option<String>,
    old_cwd: Option<String>,
    pub(crate) folders: Vec<Option<String>>,
    home: String,
    vars: HashMap<String, Value>,
    pub(crate) functions: HashMap<String, Rc<Node>>,
    pub(crate) aliases: HashMap<String, String>,
    /// Variables that stand for others.
    refs: HashMap<String, String>,
    pub(crate) positional: Vec<Field>,
    pub(crate) zero: Field,
    /// Whether the positional parameters are those of a call that was followed.
    pub(crate) positional_known: bool,
    /// What is read from the input; `None`: nobody said.
    pub(crate) input: Option<Out>,
    pub(crate) output: Out,
    pub(crate) sink: Sink,
    /// Descriptors that are connections.
    pub(crate) lines: BTreeSet<i32>,
    pub(crate) files: BTreeMap<String, Out>,
    pub(crate) links: Links,
    /// Code that reads what is written to a name: `>(…)`.
    pub(crate) readers: BTreeMap<String, String>,
    pub(crate) made: BTreeSet<String>,
    /// Whether this line changed where programs are looked for.
    pub(crate) search_changed: bool,
    /// Whether this line set any variable.
    pub(crate) sets_variables: bool,
    /// Whether a secret was handed to git: what is pushed afterwards holds it.
    pub(crate) commits_secret: bool,
    /// Variables that other programs heed, set since the last command, in whatever way.
    pub(crate) heeded: Vec<(String, Field)>,
}

impl State {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            cwd: Some(world.cwd.clone()),
            old_cwd: None,
            folders: Vec::new(),
            home: world.home.clone(),
            vars: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            refs: HashMap::new(),
            positional: Vec::new(),
            zero: Field::lit("bash"),
            positional_known: false,
            input: None,
            output: Out::empty(),
            sink: Sink::Caller,
            lines: BTreeSet::new(),
            files: BTreeMap::new(),
            links: Links::new(),
            readers: BTreeMap::new(),
            commits_secret: false,
            made: BTreeSet::new(),
            search_changed: false,
            sets_variables: false,
            heeded: Vec::new(),
        }
    }

    pub(crate) fn enter(&mut self, folder: Option<String>) {
        self.old_cwd = std::mem::replace(&mut self.cwd, folder);
    }

    /// What words are split at.
    pub(crate) fn ifs(&self) -> String {
        match self.vars.get("IFS") {
            Some(Value::One(field)) => field.guess().unwrap_or_default(),
            _ => " \t\n".to_owned(),
        }
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        match self.vars.get(name) {
            Some(Value::Unset) => false,
            Some(_) => true,
            None => matches!(name, "HOME" | "PWD" | "IFS"),
        }
    }

    /// Whether the line itself unset it.
    pub(crate) fn is_unset(&self, name: &str) -> bool {
        match name.parse::<usize>() {
            Ok(at) => self.positional_known && at > self.positional.len(),
            Err(_) => self.vars.get(name) == Some(&Value::Unset),
        }
    }

    /// Makes a variable stand for another.
    pub(crate) fn refer(&mut self, name: &str, other: &str) {
        if self.refs.len() < MAX_VARIABLES {
            self.refs.insert(name.to_owned(), other.to_owned());
        }
    }

    /// The variable that a name stands for. A ring of names ends somewhere in it.
    fn referent<'n>(&'n self, name: &'n str) -> &'n str {
        (0..4).fold(name, |name, _| {
            self.refs.get(name).map_or(name, String::as_str)
        })
    }

    pub(crate) fn read(&self, name: &str) -> Field {
        let name = self.referent(name);
        match self.vars.get(name) {
            Some(Value::One(field)) => return field.clone(),
            Some(Value::Many(fields)) => return fields.first().cloned().unwrap_or_default(),
            Some(Value::Unset) => return Field::lit(""),
            None => {}
        }
        let folder = |folder: &Option<String>| match folder {
            Some(folder) => Field::lit(folder),
            None => Field::unknown(Taint::NONE),
        };
        match name {
            "HOME" => Field::lit(&self.home),
            "PWD" => folder(&self.cwd),
            "OLDPWD" => folder(&self.old_cwd),
            "IFS" => Field::lit(" \t\n"),
            "0" => self.zero.clone(),
            "#" if self.positional_known => Field::lit(&self.positional.len().to_string()),
            "!" => Field::unknown(Taint::PLAIN.with(Taint::JOB)),
            "?" | "$" | "#" | "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS" | "UID" | "EUID"
            | "BASHPID" | "PPID" | "SRANDOM" | "COLUMNS" | "LINES" => Field::unknown(Taint::PLAIN),
            _ => match name.parse::<usize>() {
                Ok(at) => match self.positional.get(at.wrapping_sub(1)) {
                    Some(field) => field.clone(),
                    None if self.positional_known => Field::lit(""),
                    None => Field::unknown(Taint::NONE),
                },
                Err(_) => Field::unknown(named(name)),
            },
        }
    }

    pub(crate) fn assign(&mut self, name: &str, value: Field) {
        let value = if value.size() > MAX_VARIABLE {
            Field::unknown(value.taint().risky())
        } else {
            value
        };
        self.put(name, Value::One(value));
    }

    pub(crate) fn assign_list(&mut self, name: &str, values: Vec<Field>) {
        let size: usize = values.iter().map(Field::size).sum();
        let value = if size > MAX_VARIABLE {
            Value::One(Field::unknown(Taint::NONE))
        } else {
            Value::Many(values)
        };
        self.put(name, value);
    }

    /// Above the limit a variable is forgotten: reading it gives something unknown.
    fn put(&mut self, name: &str, value: Value) {
        self.sets_variables = true;
        let name = self.referent(name).to_owned();
        let name = name.as_str();
        if is_heeded(name) && self.heeded.len() < MAX_VARIABLES {
            let value = match &value {
                Value::One(field) => field.clone(),
                Value::Many(fields) => fields.first().cloned().unwrap_or_default(),
                Value::Unset => Field::default(),
            };
            self.heeded.push((name.to_owned(), value));
        }
        if self.vars.len() < MAX_VARIABLES || self.vars.contains_key(name) {
            self.vars.insert(name.to_owned(), value);
        }
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.sets_variables = true;
        self.vars.insert(name.to_owned(), Value::Unset);
    }

    /// Takes a variable back to what it was.
    pub(crate) fn restore(&mut self, name: &str, before: &Self) {
        match before.vars.get(name) {
            Some(value) => self.vars.insert(name.to_owned(), value.clone()),
            None => self.vars.remove(name),
        };
        if name == "PATH" {
            self.search_changed = before.search_changed;
        }
    }

    pub(crate) fn elements(&self, name: &str) -> Vec<Field> {
        match self.vars.get(name) {
            Some(Value::Many(fields)) => fields.clone(),
            Some(Value::Unset) => Vec::new(),
            _ => vec![self.read(name)],
        }
    }

    pub(crate) fn element(&self, name: &str, index: &Field) -> Field {
        let at = index
            .known()
            .and_then(|text| text.trim().parse::<i64>().ok());
        match (self.vars.get(name), at) {
            (Some(Value::Many(fields)), Some(at)) => {
                let length = i64::try_from(fields.len()).unwrap_or(0);
                let at = if at < 0 { length + at } else { at };
                usize::try_from(at)
                    .ok()
                    .and_then(|at| fields.get(at).cloned())
                    .unwrap_or_else(|| Field::lit(""))
            }
            (Some(Value::One(field)), Some(0)) => field.clone(),
            _ => Field::unknown(Taint::NONE),
        }
    }

    pub(crate) fn set_element(&mut self, name: &str, index: &Field, value: Field) {
        let mut fields = match self.vars.get(name) {
            Some(Value::Many(fields)) => fields.clone(),
            _ => Vec::new(),
        };
        let at = index.known().and_then(|text| text.parse::<usize>().ok());
        match at {
            Some(at) if at <= fields.len() && at < 256 => {
                if at == fields.len() {
                    fields.push(value);
                } else {
                    fields[at] = value;
                }
                self.assign_list(name, fields);
            }
            _ => self.assign(name, Field::unknown(Taint::NONE)),
        }
    }

    pub(crate) fn append(&mut self, name: &str, value: Field) {
        let mut before = if self.is_set(name) {
            self.read(name)
        } else {
            Field::default()
        };
        for part in value.parts {
            before.push(part);
        }
        self.assign(name, before);
    }

    /// What is known after either of two ways was taken.
    pub(crate) fn join(&mut self, other: &Self) {
        for (name, value) in &other.vars {
            let same = self.vars.get(name) == Some(value);
            if !same {
                let joined = match value {
                    Value::One(field) => either(field),
                    Value::Many(fields) => Value::Many(
                        fields
                            .iter()
                            .filter_map(|field| match either(field) {
                                Value::One(field) => Some(field),
                                _ => None,
                            })
                            .collect(),
                    ),
                    Value::Unset => match self.vars.get(name) {
                        Some(Value::One(field)) => either(field),
                        _ => Value::One(Field::unknown(Taint::NONE)),
                    },
                };
                self.vars.insert(name.clone(), joined);
            }
        }
        let gone: Vec<String> = self
            .vars
            .keys()
            .filter(|name| !other.vars.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            if let Some(Value::One(field)) = self.vars.get(&name) {
                let joined = either(&field.clone());
                self.vars.insert(name, joined);
            }
        }
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        if self.positional != other.positional {
            if self.positional.is_empty() {
                self.positional.clone_from(&other.positional);
            }
            self.doubt_arguments();
        }
        self.output.add(other.output.clone());
        self.lines.extend(other.lines.iter().copied());
        for (path, out) in &other.files {
            self.files.insert(path.clone(), out.clone());
        }
        for (link, to) in &other.links {
            self.links.insert(link.clone(), to.clone());
        }
        for (name, body) in &other.functions {
            self.functions.insert(name.clone(), Rc::clone(body));
        }
        self.search_changed |= other.search_changed;
        self.sets_variables |= other.sets_variables;
        let room = MAX_VARIABLES.saturating_sub(self.heeded.len());
        self.heeded.extend(other.heeded.iter().take(room).cloned());
    }

    /// Forgets what has changed, for a loop may change it again; gives the names of that.
    pub(crate) fn changed_since(&mut self, before: &Self) -> BTreeSet<String> {
        let changed: Vec<String> = self
            .vars
            .iter()
            .filter(|(name, value)| before.vars.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        let mut names = BTreeSet::new();
        for name in changed {
            if let Some(Value::One(field)) = self.vars.get(&name) {
                let joined = either(&field.clone());
                self.vars.insert(name.clone(), joined);
            }
            names.insert(name);
        }
        if self.cwd != before.cwd {
            self.cwd = None;
            names.insert("./".to_owned());
        }
        if self.positional != before.positional {
            self.doubt_arguments();
            names.insert("@".to_owned());
        }
        names
    }

    fn doubt_arguments(&mut self) {
        for field in &mut self.positional {
            if let Value::One(guess) = either(field) {
                *field = guess;
            }
        }
        self.positional_known = false;
    }
}

fn either(field: &Field) -> Value {
    use crate::value::Part;
    Value::One(match field.guess() {
        Some(text) => Field {
            parts: vec![Part::Guess(text)],
        },
        None => Field::unknown(field.taint().risky()),
    })
}

/// Variables of the environment whose names say that they hold credentials.
pub(crate) fn named(name: &str) -> Taint {
    const MARKS: [&str; 9] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "APIKEY",
        "API_KEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
    ];
    let upper = name.to_uppercase();
    if MARKS.iter().any(|mark| upper.contains(mark)) {
        Taint::NAMED
    } else {
        Taint::NONE
    }
}
