//! Ports inside that are published outside (B10).

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use deputize_testkit::{Missing, Running, TestEnv, cage, until};
use rustix::process::Signal;

use crate::scene::{project, refused_code};

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Serves the workspace inside, with these options; it has begun when this returns.
fn served(env: &TestEnv, options: &[&str], port: u16) -> Running {
    let script = format!(
        "import http.server as h\ns = h.ThreadingHTTPServer(('127.0.0.1', {port}), \
         h.SimpleHTTPRequestHandler)\nprint('up', flush=True)\ns.serve_forever()"
    );
    let mut arguments = vec!["exec"];
    arguments.extend(options);
    arguments.extend(["--", "python3", "-c", &script]);
    let mut running = env.call(arguments).start();
    let _ = running.until_said("up");
    running
}

/// What a server answers to one request; empty where there is none.
fn fetched(port: u16, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return String::new();
    };
    // A connection that is closed at once may fail either: then there is no answer.
    let _ = write!(stream, "GET {path} HTTP/1.0\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// B10: a server's port reaches the loopback outside when it is asked for, and not otherwise; it is
/// gone with the command.
#[test]
fn a_published_port_is_reached_as_long_as_the_command_runs() {
    let env = project();
    let port = free_port();
    let mut unpublished = served(&env, &[], port);
    assert_eq!(fetched(port, "/README.md"), "");
    unpublished.signal(Signal::KILL);
    let _ = unpublished.wait();
    let mut published = served(&env, &["--port", &port.to_string()], port);
    let answers = fetched(port, "/README.md");
    assert!(answers.starts_with("HTTP/1.0 200"), "{answers}");
    let several: Vec<_> = (0..20)
        .map(|_| std::thread::spawn(move || fetched(port, "/README.md")))
        .collect();
    for answer in several {
        assert_eq!(
            answer.join().unwrap().lines().next(),
            answers.lines().next()
        );
    }
    published.signal(Signal::TERM);
    let _ = published.wait();
    until("the port is free again", || {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .ok()
            .map(drop)
    });
}

/// B10: where nobody listens inside, a connection is closed and the command goes on.
#[test]
fn a_port_without_a_listener_is_closed_at_once() {
    let env = project();
    let port = free_port();
    let script = "echo up; exec sleep 60";
    let mut running = env
        .call([
            "exec",
            "--port",
            &port.to_string(),
            "--",
            "sh",
            "-c",
            script,
        ])
        .start();
    let _ = running.until_said("up");
    assert_eq!(fetched(port, "/"), "");
    running.signal(Signal::TERM);
    let _ = running.wait();
}

/// B10: a port that is taken is a refusal before anything runs.
#[test]
fn a_port_that_is_taken_is_refused() {
    let env = project();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let outcome = env
        .run(["exec", "--port", &port, "--", "touch", "ran"])
        .expect_code(126);
    assert_eq!(refused_code(&outcome), "port_not_free");
}

/// B3, B10: without namespaces there is no port to publish, and that is a refusal.
#[test]
fn a_port_needs_the_full_boundary() {
    let env = project();
    let port = free_port().to_string();
    let outcome = env
        .call(["exec", "--port", &port, "--", "true"])
        .with(|command| cage(command, &[Missing::Namespaces]))
        .run()
        .expect_code(126);
    assert_eq!(refused_code(&outcome), "boundary_too_weak");
}
