//! Programs that talk to others.

use super::{Handler, input_taint};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "curl" | "curlie" | "httpie" | "http" | "https" | "xh" => curl,
        "wget" | "wget2" | "aria2c" | "axel" | "lwp-download" => wget,
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "nc.openbsd" | "nc.traditional" => line,
        "openssl" => openssl,
        "ping" | "ping6" | "dig" | "nslookup" | "host" | "traceroute" | "tracepath" | "mtr"
        | "whois" | "nmap" | "arping" | "ssh-keyscan" | "ssh-copy-id" | "finger" | "rdate"
        | "ntpdate" | "drill" | "kdig" | "youtube-dl" | "yt-dlp" | "speedtest" | "masscan"
        | "tcpdump" | "tshark" | "w3m" | "lynx" | "links" | "elinks" | "mail" | "mailx"
        | "sendmail" | "mutt" | "gdown" | "croc" | "wormhole" | "magic-wormhole" | "transfer"
        | "ngrok" | "cloudflared" | "websocat" | "wscat" | "grpcurl" | "snmpwalk" | "ab"
        | "wrk" | "hey" | "iperf" | "iperf3" | "svn" | "hg" | "fossil" | "bzr" | "darcs"
        | "rclone-net" | "logger" | "wall" | "xdg-open" | "open" => simple,
        _ => return None,
    })
}

/// Whether an operand names another machine, as `scp` and `rsync` do.
pub(super) fn is_remote(field: &Field) -> bool {
    let text = field.shown();
    if text.contains("://") {
        return true;
    }
    match text.find(':') {
        Some(at) => !text[..at].contains('/') && at > 0 || text.starts_with(':'),
        None => false,
    }
}

/// The host that a word names, if it names one that is wholly known: what stands before, in or right
/// after a known piece could make it the name, or the password, of another.
pub(super) fn host(field: &Field) -> Option<String> {
    let text = match field.has_unknown() || field.has_guess() {
        false => field.shown(),
        true => {
            let known = field.prefix();
            let from = known.find("://").map_or(0, |at| at + 3);
            let end = known.get(from..)?.find(['/', '?', '#'])?;
            known.get(..from + end)?.to_owned()
        }
    };
    let rest = text
        .split_once("://")
        .map_or(text.as_str(), |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next()?;
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = match rest.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => rest.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// Notes who is talked to, and what is sent along.
pub(super) fn talks(machine: &mut Machine<'_>, to: Option<&Field>, sent: Taint) {
    if sent.has(Taint::SECRET) {
        machine.act(&rules::secret::UPLOAD);
    }
    if to.is_some_and(|to| !to.shown().is_ascii() && !to.has_unknown()) {
        machine.act(&rules::opaque::LETTERS);
    }
    machine.network(to.and_then(host));
}

/// Everything that is unknown in arguments.
pub(super) fn args_taint(args: &[Field]) -> Taint {
    args.iter()
        .fold(Taint::NONE, |all, arg| all.and(arg.taint().risky()))
}

/// A file that is sent: `@name`, `name=@file;type=…`.
fn sent(machine: &mut Machine<'_>, field: &Field, state: &State) -> Taint {
    let taint = field.taint();
    let text = field.prefix();
    let Some(at) = text
        .find(['@', '<'])
        .filter(|at| *at == 0 || text[..*at].ends_with('='))
    else {
        return taint;
    };
    let file = field.after(at + 1);
    if file.known().as_deref() == Some("-") {
        return taint.and(input_taint(state));
    }
    let name = match file.known() {
        Some(text) => Field::lit(text.split(';').next().unwrap_or_default()),
        None => file,
    };
    taint.and(machine.read_file(&name, state).taint().risky())
}

fn curl(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "A b c C d D e E F H I-x K m o Q r t T u U w x X y Y z data data-raw data-binary data-ascii data-urlencode \
         form form-string header output output-dir cookie cookie-jar dump-header upload-file user user-agent url \
         request config referer proxy max-time connect-timeout cacert cert key retry resolve json trace trace-ascii \
         stderr range write-out limit-rate netrc-file unix-socket etag-save etag-compare hsts libcurl connect-to \
         interface aws-sigv4 oauth2-bearer preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname doh-url url-query \
         variable proxy-header",
        Order::Any,
    );
    let mut out_taint = args_taint(call.args);
    let mut body = Taint::NONE;
    if !call.name.starts_with("curl") {
        out_taint = out_taint.and(input_taint(state));
    }
    for field in parsed.values(&[
        "d",
        "data",
        "data-binary",
        "data-ascii",
        "data-urlencode",
        "F",
        "form",
        "json",
        "H",
        "header",
        "b",
        "cookie",
    ]) {
        out_taint = out_taint.and(sent(machine, field, state));
        if destroys(&field.shown()) {
            machine.act(&rules::remote::CLOUD_DESTROY);
        }
    }
    // A header may hold a credential for whom it belongs to; a body carries it away.
    for field in parsed.values(&[
        "d",
        "data",
        "data-raw",
        "data-binary",
        "data-ascii",
        "data-urlencode",
        "F",
        "form",
        "form-string",
        "json",
        "T",
        "upload-file",
    ]) {
        body = body.and(field.taint());
        if matches!(field.known().as_deref(), Some("-" | "@-")) {
            body = body.and(input_taint(state));
        }
    }
    // `name=value` of other clients is a body, too; `name:value` is a header.
    if !call.name.starts_with("curl") {
        for item in &parsed.operands {
            let text = item.prefix();
            if text.contains('=') && !text.contains("://") {
                body = body.and(item.taint());
            }
        }
    }
    if body.has(Taint::NAMED) {
        machine.act(&rules::secret::UPLOAD);
    }
    // Without a `=` before it, `name@file` is a file to encode.
    for field in parsed.values(&["data-urlencode", "url-query", "variable"]) {
        let text = field.prefix();
        if let Some(at) = text
            .find(['=', '@'])
            .filter(|at| text[*at..].starts_with('@'))
        {
            let file = field.after(at + 1);
            out_taint = out_taint.and(machine.read_file(&file, state).taint().risky());
        }
    }
    // A cookie that assigns nothing is a file of cookies.
    for field in parsed.values(&["b", "cookie"]) {
        if !field.shown().contains('=') && !field.shown().is_empty() {
            out_taint = out_taint.and(machine.read_file(field, state).taint().risky());
        }
    }
    for field in parsed.values(&["w", "write-out"]) {
        sent(machine, field, state);
    }
    for field in parsed.values(&["T", "upload-file"]) {
        out_taint = out_taint.and(if field.known().as_deref() == Some("-") {
            input_taint(state)
        } else {
            machine.read_file(field, state).taint().risky()
        });
    }
    for field in parsed.values(&["K", "config", "netrc-file", "cacert", "cert", "key", "E"]) {
        if field.known().as_deref() != Some("-") {
            machine.read_file(field, state);
        }
    }
    if parsed.has(&["K", "config", "unix-socket"]) {
        machine.act(&rules::opaque::OPTION);
    }
    if parsed
        .value(&["unix-socket"])
        .is_some_and(|socket| socket.shown().contains("docker"))
    {
        machine.act(&rules::container::HOST);
    }
    for field in parsed.values(&[
        "o",
        "output",
        "D",
        "dump-header",
        "c",
        "cookie-jar",
        "trace",
        "trace-ascii",
        "stderr",
        "output-dir",
        "etag-save",
        "hsts",
        "libcurl",
    ]) {
        if field.known().as_deref() != Some("-") {
            written(machine, field, state);
        }
    }
    let method = parsed
        .value(&["X", "request"])
        .map(|field| field.shown().to_uppercase());
    if method.as_deref() == Some("DELETE") {
        machine.act(&rules::remote::CLOUD_DESTROY);
    }
    reaches(machine, &parsed);
    let urls: Vec<Field> = parsed
        .operands
        .iter()
        .chain(parsed.values(&["url"]))
        .cloned()
        .collect();
    for url in &urls {
        if let Some(path) = url.prefix().strip_prefix("file://") {
            machine.read_file(&Field::lit(path), state);
        }
        talks(machine, Some(url), out_taint);
    }
    if urls.is_empty() {
        talks(machine, None, out_taint);
    }
    Out::Unknown(Taint::REMOTE)
}

/// Whether a body asks a GraphQL service to remove something.
fn destroys(body: &str) -> bool {
    let body = body.to_lowercase();
    let asks = ["delete", "destroy", "remove", "drop", "purge", "wipe"];
    body.contains("mutation") && asks.iter().any(|verb| body.contains(verb))
}

/// Other hosts that options of curl name: proxies, and addresses that stand for another name.
fn reaches(machine: &mut Machine<'_>, parsed: &Parsed) {
    for proxy in parsed.values(&[
        "x",
        "proxy",
        "preproxy",
        "proxy1.0",
        "socks4",
        "socks4a",
        "socks5",
        "socks5-hostname",
        "doh-url",
    ]) {
        machine.network(proxy.known().and_then(|_| host(proxy)));
    }
    // `from:port:to:port`, and `name:port:address,address`: colons in an address can't be told apart.
    for mapped in parsed.values(&["connect-to", "resolve"]) {
        let text = mapped.known().filter(|text| !text.contains('['));
        let to = text.as_deref().and_then(|text| text.split(':').nth(2));
        match to {
            Some(to) if !to.is_empty() => {
                for host in to.split(',') {
                    machine.network(Some(host.to_lowercase()));
                }
            }
            _ => machine.network(None),
        }
    }
}

/// A file that is written with bytes from the network: what it holds is known to come from there.
pub(super) fn written(machine: &mut Machine<'_>, field: &Field, state: &mut State) {
    let target = machine.path(Role::Write, field, state);
    if let Some(path) = target.path
        && target.place != Place::Stream
    {
        state.files.insert(path, Out::Unknown(Taint::REMOTE));
    }
}

fn wget(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "O o a P e i B t T w Q U d D A R I X l dir out output-document output-file append-output directory-prefix execute \
         input-file post-data post-file body-data body-file header user password user-agent referer tries timeout \
         load-cookies save-cookies use-askpass config method all-proxy http-proxy https-proxy ftp-proxy",
        Order::Any,
    );
    let mut taint = args_taint(call.args);
    if parsed
        .values(&["post-data", "body-data"])
        .any(|body| body.taint().has(Taint::NAMED))
    {
        machine.act(&rules::secret::UPLOAD);
    }
    for field in parsed.values(&[
        "post-file",
        "body-file",
        "i",
        "input-file",
        "load-cookies",
        "config",
    ]) {
        taint = taint.and(machine.read_file(field, state).taint().risky());
    }
    for field in parsed.values(&[
        "O",
        "output-document",
        "o",
        "output-file",
        "a",
        "append-output",
        "P",
        "directory-prefix",
        "save-cookies",
        "dir",
        "out",
    ]) {
        if field.known().as_deref() != Some("-") {
            written(machine, field, state);
        }
    }
    for program in parsed.values(&["use-askpass"]) {
        let program = program.clone();
        machine.code_word(&program, &mut state.clone());
    }
    if parsed.has(&["e", "execute"]) {
        machine.act(&rules::opaque::OPTION);
        for setting in parsed.values(&["e", "execute"]) {
            let shown = setting.shown();
            if let Some((_, value)) = shown.split_once('=') {
                machine.suspect(value.trim(), state);
                if shown.contains("proxy") {
                    machine.network(host(&Field::lit(value.trim())));
                }
                if shown.contains("output_document") {
                    machine.path(Role::Write, &Field::lit(value.trim()), state);
                }
            }
        }
    }
    for proxy in parsed.values(&["all-proxy", "http-proxy", "https-proxy", "ftp-proxy"]) {
        machine.network(host(proxy));
    }
    for url in &parsed.operands {
        talks(machine, Some(url), taint);
    }
    if parsed.operands.is_empty() {
        talks(machine, None, taint);
    }
    Out::Unknown(Taint::REMOTE)
}

/// Programs that keep a line open: `nc`, `socat`, `telnet`.
fn line(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let input = input_taint(state);
    if input.has(Taint::LINE) {
        machine.act(&rules::network::REVERSE_SHELL);
    }
    let mut listens = false;
    for arg in call.args {
        let text = arg.shown();
        let short = text.starts_with('-') && !text.starts_with("--");
        let runs = short
            && text.contains(['e', 'c'])
            && call.name != "telnet"
            && !text.contains(['z', 'C'])
            || text.starts_with("--exec")
            || text.starts_with("--sh-exec")
            || text.starts_with("--lua-exec");
        if runs && call.name != "socat" {
            machine.act(&rules::network::REVERSE_SHELL);
        }
        listens |= short && text.contains('l') || text == "--listen";
        if call.name == "socat" {
            let upper = text.to_uppercase();
            if upper.starts_with("EXEC:")
                || upper.starts_with("SYSTEM:")
                || upper.starts_with("SHELL:")
                || upper.starts_with("EXEC-")
            {
                machine.act(&rules::network::REVERSE_SHELL);
            }
            listens |= upper.contains("LISTEN");
            for kind in ["OPEN:", "CREATE:", "FILE:", "GOPEN:"] {
                if let Some(path) = upper
                    .starts_with(kind)
                    .then(|| text.get(kind.len()..))
                    .flatten()
                {
                    let path = path.split(',').next().unwrap_or_default();
                    let place = machine.target(&Field::lit(path), state).place;
                    if matches!(place, Place::Secret | Place::SecretInside) {
                        machine.act(&rules::secret::UPLOAD);
                    }
                    machine.path(
                        if kind == "CREATE:" {
                            Role::Write
                        } else {
                            Role::Read
                        },
                        &Field::lit(path),
                        state,
                    );
                }
            }
        }
    }
    if listens {
        machine.act(&rules::network::LISTEN);
    }
    // An option may take the word behind it, and addresses of `socat` have a form of their own.
    let to = call.args.first().filter(|arg| {
        call.name != "socat"
            && !call.args.iter().any(|arg| arg.prefix().starts_with('-'))
            && !arg.prefix().is_empty()
    });
    if input.has(Taint::NAMED) {
        machine.act(&rules::secret::UPLOAD);
    }
    talks(machine, to, input.and(args_taint(call.args)));
    Out::Unknown(Taint::LINE)
}

fn openssl(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let verb = call.args.first().map(Field::shown).unwrap_or_default();
    let mut decodes = false;
    let mut keyed = false;
    let mut file = None;
    let mut at = 1;
    while let Some(arg) = call.args.get(at) {
        let text = arg.prefix();
        let next = call.args.get(at + 1);
        match text.as_str() {
            "-d" | "-D" => decodes = true,
            "-in" | "-inkey" | "-CA" | "-CAkey" | "-key" | "-kfile" | "-cert" => {
                if let Some(path) = next {
                    file = Some(machine.read_file(path, state));
                }
                at += 1;
            }
            "-out" | "-keyout" => {
                if let Some(path) = next {
                    machine.path(Role::Write, path, state);
                }
                at += 1;
            }
            "-engine" | "-provider" | "-provider-path" | "-config" => {
                machine.act(&rules::opaque::OPTION);
                at += 1;
            }
            "-k" | "-K" | "-pass" | "-iv" => {
                keyed = true;
                at += 1;
            }
            text if text.starts_with("-aes")
                || text.starts_with("-des")
                || text.starts_with("-chacha") =>
            {
                keyed = true
            }
            _ => {}
        }
        at += 1;
    }
    match verb.as_str() {
        "s_client" | "s_server" | "s_time" | "ocsp" => {
            let input = input_taint(state);
            if input.has(Taint::LINE) {
                machine.act(&rules::network::REVERSE_SHELL);
            }
            talks(machine, None, input.and(args_taint(call.args)));
            Out::Unknown(Taint::LINE)
        }
        "enc" | "base64" => {
            let input = file
                .or_else(|| state.input.clone())
                .unwrap_or(Out::Unknown(Taint::NONE));
            match input {
                Out::Known(text) if decodes && !keyed => {
                    super::decode::base64(&text).map_or(Out::Unknown(Taint::NONE), Out::Known)
                }
                input => Out::Unknown(input.taint().risky()),
            }
        }
        _ => Out::Unknown(input_taint(state).risky()),
    }
}

fn simple(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let taint = args_taint(call.args);
    let input = input_taint(state);
    let mails = matches!(call.name, "mail" | "mailx" | "sendmail" | "mutt");
    for arg in call.args {
        let text = arg.shown();
        if text.contains(' ') {
            machine.suspect(&text, state);
        }
        if mails || matches!(call.name, "croc" | "wormhole" | "transfer") {
            let place = machine.target(arg, state).place;
            if matches!(place, Place::Secret | Place::SecretInside) {
                machine.act(&rules::secret::UPLOAD);
            }
        }
    }
    if matches!(call.name, "svn" | "hg" | "fossil" | "bzr" | "darcs") {
        super::git::other_vcs(machine, call, state);
        return Out::Unknown(Taint::REMOTE);
    }
    if matches!(call.name, "ngrok" | "cloudflared") {
        machine.act(&rules::network::LISTEN);
    }
    // Of several words, or behind an option, nobody says which is the host.
    let to = match call.args {
        [one] if !one.prefix().starts_with(['-', '+', '@']) => Some(one),
        _ => None,
    };
    let sends = if mails || matches!(call.name, "websocat" | "wscat" | "logger" | "wall") {
        taint.and(input)
    } else {
        taint
    };
    talks(machine, to, sends);
    Out::Unknown(Taint::REMOTE)
}
