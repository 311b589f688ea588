//! The provider on loopback.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use deputize_testkit::{Provider, Reply, until};
use serde_json::json;

/// What is measured between a reply and the next request stands on these times.
#[test]
fn a_request_has_the_time_that_it_came_and_the_time_that_it_was_answered() {
    let provider = Provider::playing([Reply::status(200, &json!("first")), Reply::mute()]);
    let mut stream = TcpStream::connect(provider.url().trim_start_matches("http://")).unwrap();
    let request = b"GET /first HTTP/1.1\r\n\r\n";
    stream.write_all(request).unwrap();
    let first = until("the first is answered", || {
        let first = provider.asked().into_iter().next()?;
        Some((first.came, first.answered?))
    });
    let mut reply = [0; 1];
    stream.read_exact(&mut reply).unwrap();
    stream.write_all(request).unwrap();
    let second = until("the second has come", || {
        provider.asked().into_iter().nth(1)
    });
    assert!(first.0 <= first.1 && first.1 <= second.came, "{first:?}");
    assert_eq!(second.answered, None);
}

/// Several that ask at a time come in any order: each gets what is meant for it.
#[test]
fn a_request_is_answered_as_it_wants_to_be() {
    let provider = Provider::answering(|asked| Reply::status(200, &json!(asked.line)));
    for path in ["/second", "/first"] {
        let mut stream = TcpStream::connect(provider.url().trim_start_matches("http://")).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.contains(path), "{reply}");
    }
}
