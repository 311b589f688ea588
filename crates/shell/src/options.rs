//! Options and operands, as `getopt` tells them apart.

use crate::value::Field;

/// One option as it was given.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) value: Option<Field>,
}

/// Arguments, taken apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parsed {
    pub(crate) options: Vec<Given>,
    pub(crate) operands: Vec<Field>,
}

/// Whether options may come after operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// They may.
    Any,
    /// The first operand ends them.
    First,
}

impl Parsed {
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|given| names.contains(&given.name.as_str()))
    }

    pub(crate) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Field> {
        self.options
            .iter()
            .filter(|given| names.contains(&given.name.as_str()))
            .filter_map(|given| given.value.as_ref())
    }

    pub(crate) fn value(&self, names: &[&str]) -> Option<&Field> {
        self.options
            .iter()
            .filter(|given| names.contains(&given.name.as_str()))
            .find_map(|given| given.value.as_ref())
    }
}

/// Takes arguments apart. `valued` lists the options that take a value, separated by blanks; a long
/// one may be given by its beginning, as `getopt` allows.
pub(crate) fn parse(args: &[Field], valued: &str, order: Order) -> Parsed {
    let mut parsed = Parsed::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let prefix = arg.prefix();
        if prefix == "--" && arg.known().is_some() {
            parsed.operands.extend(rest.cloned());
            break;
        }
        if let Some(name) = prefix.strip_prefix("--") {
            match name.split_once('=') {
                Some((name, _)) => parsed.options.push(Given {
                    name: full(name, valued),
                    value: Some(arg.after(name.len() + 3)),
                }),
                None => {
                    let name = full(name, valued);
                    let value = takes(&name, valued).then(|| rest.next().cloned()).flatten();
                    parsed.options.push(Given { name, value });
                }
            }
            continue;
        }
        if prefix.len() > 1 && prefix.starts_with('-') {
            short(arg, &prefix, valued, &mut rest, &mut parsed);
            continue;
        }
        parsed.operands.push(arg.clone());
        if order == Order::First {
            parsed.operands.extend(rest.cloned());
            break;
        }
    }
    parsed
}

/// Arguments with each long option that something is judged by spelled in full: most programs take it by
/// its beginning. What is whole as it stands stays, whatever begins with it.
pub(crate) fn spelled(args: &[Field], heeded: &[&str], whole: &[&str]) -> Vec<Field> {
    let mut behind = false;
    args.iter()
        .map(|arg| {
            behind |= arg.known().as_deref() == Some("--");
            let text = arg.prefix();
            let Some(long) = text.strip_prefix("--").filter(|_| !behind) else {
                return arg.clone();
            };
            let name = long.split('=').next().unwrap_or_default();
            if name.is_empty() || heeded.contains(&name) || whole.contains(&name) {
                return arg.clone();
            }
            let Some(full) = heeded.iter().find(|full| full.starts_with(name)) else {
                return arg.clone();
            };
            let mut spelled = Field::lit(&format!("--{full}"));
            for part in arg.after(name.len() + 2).parts {
                spelled.push(part);
            }
            spelled
        })
        .collect()
}

fn short<'a>(
    arg: &Field,
    prefix: &str,
    valued: &str,
    rest: &mut impl Iterator<Item = &'a Field>,
    parsed: &mut Parsed,
) {
    for (at, c) in prefix.char_indices().skip(1) {
        let name = c.to_string();
        if !takes(&name, valued) {
            parsed.options.push(Given { name, value: None });
            continue;
        }
        let attached = arg.after(at + c.len_utf8());
        let value = if attached.parts.is_empty() {
            rest.next().cloned()
        } else {
            Some(attached)
        };
        parsed.options.push(Given { name, value });
        break;
    }
}

fn takes(name: &str, valued: &str) -> bool {
    valued.split(' ').any(|known| known == name)
}

/// The long option that a beginning stands for.
fn full(name: &str, valued: &str) -> String {
    if takes(name, valued) || name.len() < 2 {
        return name.to_owned();
    }
    valued
        .split(' ')
        .find(|known| known.len() > 1 && known.starts_with(name))
        .unwrap_or(name)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<Field> {
        line.split(' ').map(Field::lit).collect()
    }

    #[test]
    fn a_long_option_is_known_by_its_beginning() {
        let args = fields("--har --for=x --ma -- --har");
        let spelled = spelled(&args, &["hard", "force"], &["ma"]);
        let shown: Vec<String> = spelled.iter().map(Field::shown).collect();
        assert_eq!(shown, ["--hard", "--force=x", "--ma", "--", "--har"]);
    }

    #[test]
    fn options_are_told_from_operands() {
        let parsed = parse(
            &fields("-rf -o out x --compress-prog=p y -- -z"),
            "o compress-program",
            Order::Any,
        );
        let names: Vec<&str> = parsed
            .options
            .iter()
            .map(|given| given.name.as_str())
            .collect();
        assert_eq!(names, ["r", "f", "o", "compress-program"]);
        let operands: Vec<String> = parsed.operands.iter().map(Field::shown).collect();
        assert_eq!(operands, ["x", "y", "-z"]);
        assert_eq!(parsed.value(&["o"]).unwrap().shown(), "out");
        let first = parse(&fields("-n 5 ls -l"), "n", Order::First);
        assert_eq!(first.operands.len(), 2);
    }
}
