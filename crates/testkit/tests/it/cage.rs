//! A cage takes away what it says, and nothing else.

use std::process::Command;

use deputize_testkit::{Missing, cage};

fn output(missing: &[Missing], program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(program);
    command.args(arguments);
    cage(&mut command, missing);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// Asks the kernel through Python for a Landlock ABI: prints the version or the error.
const LANDLOCK: &str = "import ctypes\n\
    l = ctypes.CDLL(None, use_errno=True)\n\
    print(l.syscall(444, None, 0, 1), ctypes.get_errno())";

/// Asks for a filter with an empty program; what is there refuses the program with EFAULT.
const SECCOMP: &str = "import ctypes\n\
    l = ctypes.CDLL(None, use_errno=True)\n\
    l.prctl(38, 1, 0, 0, 0)\n\
    print(l.prctl(22, 2, None, 0, 0), ctypes.get_errno())";

#[test]
fn without_namespaces_none_can_be_had() {
    let unshare = ["--user", "--map-root-user", "true"];
    let (free, _) = output(&[], "unshare", &unshare);
    let (caged, said) = output(&[Missing::Namespaces], "unshare", &unshare);
    assert_eq!(
        free,
        Some(0),
        "this machine gives no namespaces: nothing was tested"
    );
    assert_eq!(caged, Some(1), "{said}");
    assert!(said.contains("Operation not permitted"), "{said}");
}

#[test]
fn a_caged_command_can_still_start_others() {
    let (status, said) = output(
        &[Missing::Namespaces],
        "sh",
        &["-c", "(echo one); echo two"],
    );
    assert_eq!((status, said.as_str()), (Some(0), "one\ntwo\n"));
}

#[test]
fn without_landlock_the_kernel_knows_no_such_call() {
    let (_, free) = output(&[], "/usr/bin/python3", &["-c", LANDLOCK]);
    let (_, caged) = output(&[Missing::Landlock], "/usr/bin/python3", &["-c", LANDLOCK]);
    assert_eq!(caged, format!("-1 {}\n", libc::ENOSYS));
    assert_ne!(
        free, caged,
        "this kernel has no Landlock: nothing was tested"
    );
}

#[test]
fn without_seccomp_no_further_filter_is_taken() {
    let (_, free) = output(&[], "/usr/bin/python3", &["-c", SECCOMP]);
    let (_, caged) = output(&[Missing::Seccomp], "/usr/bin/python3", &["-c", SECCOMP]);
    assert_eq!(free, format!("-1 {}\n", libc::EFAULT));
    assert_eq!(caged, format!("-1 {}\n", libc::EINVAL));
}
