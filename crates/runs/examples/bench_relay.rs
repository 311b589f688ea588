//! Measures a token of a streamed answer: through the relay, and read in this process without one.

mod measuring;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Instant;

use deputize_egress::{Launch, Relayed};
use deputize_model::wire::{Decoder, Wire};
use deputize_model::{
    Allowance, BaseUrl, Endpoint, KeyNeed, KeySource, Message, ModelClient as _, Plain,
    TurnRequest, Unwatched,
};
use deputize_testkit::{Provider, Reply, Said, Speech};
use measuring::{Failure, Side};

/// Tokens of a turn, each in an event and a chunk of its own.
const TOKENS: u32 = 4_000;

/// Rounds take a tenth of a second and more.
const MOST_ROUNDS: usize = 20;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let rounds = rounds.min(MOST_ROUNDS);
    // Both sides in turn, and a round before the first that counts.
    let provider = Provider::playing((0..2 * (rounds + 1)).map(|_| reply()));
    let endpoint = endpoint(&provider)?;
    let request = TurnRequest {
        system: String::new(),
        messages: vec![Message::User("Go on.".to_owned())],
        tools: Vec::new(),
        max_output_tokens: u64::from(TOKENS),
        allowance: Allowance::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let relayed = Relayed::new(endpoint.clone(), launch()?);
    runtime.block_on(relayed.ready(&Unwatched))?;
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let begun = Instant::now();
        directly(&endpoint, &request)?;
        let alone = begun.elapsed();
        let begun = Instant::now();
        runtime.block_on(relayed.turn(&request, &Unwatched))?;
        let relayed = begun.elapsed();
        if round > 0 {
            direct.push(alone.as_secs_f64() * 1e6 / f64::from(TOKENS));
            through.push(relayed.as_secs_f64() * 1e6 / f64::from(TOKENS));
        }
    }
    let side = |name: &str, samples, beside| Side {
        name: name.to_owned(),
        samples,
        unit: "µs",
        beside,
    };
    Ok(vec![
        side("a token through the relay", through, Some("direct")),
        side("direct", direct, None),
    ])
}

fn reply() -> Reply {
    let said = Said {
        text: vec!["word ".to_owned(); TOKENS as usize],
        ..Said::text("")
    };
    Speech::Anthropic.turn(0, &said)
}

fn endpoint(provider: &Provider) -> Result<Endpoint, Failure> {
    Ok(Endpoint {
        name: "measured:model".parse()?,
        model: "model".to_owned(),
        wire: Wire::Anthropic,
        base: BaseUrl::parse(&provider.url(), Plain::Loopback)?,
        key: KeySource {
            variables: Vec::new(),
            account: "measured".to_owned(),
            need: KeyNeed::Optional,
        },
        price: None,
    })
}

fn launch() -> Result<Launch, Failure> {
    let program = std::env::var_os("DEPUTIZE_BENCH_PROGRAM");
    Ok(Launch {
        program: program.ok_or("DEPUTIZE_BENCH_PROGRAM isn't set")?.into(),
        environment: Vec::new(),
        store: None,
    })
}

/// The least that can be done: a blocking socket, and the same decoder.
fn directly(endpoint: &Endpoint, request: &TurnRequest) -> Result<(), Failure> {
    let source = endpoint.name.to_string();
    let body = endpoint.wire.body(&endpoint.model, &source, request)?;
    let mut stream = TcpStream::connect((endpoint.base.host.as_str(), endpoint.base.port))?;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    let mut from = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        from.read_line(&mut line)?;
    }
    let mut decoder = Decoder::new(endpoint.wire, &source, 1, 1);
    while !decoder.is_over() {
        line.clear();
        from.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        let mut chunk = vec![0; size + 2];
        from.read_exact(&mut chunk)?;
        decoder.push(&chunk[..size])?;
    }
    decoder.finish()?;
    Ok(())
}
