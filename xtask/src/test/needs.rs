//! The programs that tests run, and how a bare Debian machine gets them.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::failure::Failure;
use crate::ordinary;

/// A program, the file that shows it is there for every user, and the Debian packages it is in.
struct Need {
    program: &'static str,
    file: &'static str,
    packages: &'static [&'static str],
    why: &'static str,
}

const NEEDS: [Need; 7] = [
    Need {
        program: "git",
        file: "/usr/bin/git",
        packages: &["git"],
        why: "repositories that tests build and look at",
    },
    Need {
        program: "python3",
        file: "/usr/bin/python3",
        packages: &["python3-minimal"],
        why: "probes that try to leave a boundary from an interpreter",
    },
    Need {
        program: "pip3",
        file: "/usr/bin/pip3",
        packages: &["python3-pip"],
        why: "the official Python SDK of MCP, a client that tests meet as it is",
    },
    Need {
        program: "pytest-3",
        file: "/usr/bin/pytest-3",
        packages: &["python3-pytest"],
        why: "a project that a child tests in its copy",
    },
    Need {
        program: "gcc",
        file: "/usr/bin/gcc",
        packages: &["gcc", "libc6-dev"],
        why: "probes that call the kernel directly",
    },
    Need {
        program: "npm",
        file: "/usr/bin/npm",
        packages: &["npm"],
        why: "Pi, which tests meet as it is, and the build of its extension",
    },
    Need {
        program: "setpriv",
        file: "/usr/bin/setpriv",
        packages: &["util-linux"],
        why: "tests that drop rights",
    },
];

/// Installs what is missing, as root on Debian; else says what is missing and fails.
pub(super) fn install() -> Result<(), Failure> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !there(need)).collect();
    if missing.is_empty() {
        println!("  all there");
        return Ok(());
    }
    for need in &missing {
        println!("  {} is missing: {}", need.program, need.why);
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|need| need.packages)
        .copied()
        .collect();
    if !ordinary::is_root() || command::find("apt-get").is_none() {
        return Err(Failure::Missing(format!(
            "install {} and try again (as root on Debian this is done for you)",
            packages.join(", ")
        )));
    }
    let mut update = Command::new("apt-get");
    command::show(update.args(["--quiet", "--quiet", "update"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    install.args([
        "--quiet",
        "--quiet",
        "install",
        "--yes",
        "--no-install-recommends",
    ]);
    command::show(install.args(packages))
}

/// As root a program in somebody's home doesn't do: the ordinary user of the second pass can't run
/// it. For everybody else, wherever PATH finds it is good.
fn there(need: &Need) -> bool {
    if Path::new(need.file).is_file() {
        return true;
    }
    !ordinary::is_root() && command::find(need.program).is_some()
}
