//! Cuts a stream into lines, and lines into server-sent events, whatever the chunks.

use super::limits::{ANSWER_BYTES, EVENTS, LINE_BYTES};

/// Why a stream is no stream of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineFault {
    #[error("a line is longer than {LINE_BYTES} bytes")]
    Line,
    #[error("the answer is longer than {ANSWER_BYTES} bytes")]
    Answer,
    #[error("the answer has more than {EVENTS} events")]
    Events,
    #[error("a line is not UTF-8")]
    Utf8,
}

/// How lines make up events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events: the `data` lines up to an empty one.
    Events,
    /// Every line is an event.
    Lines,
}

/// A stream as far as it has come.
#[derive(Debug)]
pub(super) struct Lines {
    framing: Framing,
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the event that has no end yet.
    data: String,
    bytes: u64,
    events: u64,
}

impl Lines {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            data: String::new(),
            bytes: 0,
            events: 0,
        }
    }

    /// Takes a chunk, and returns the events that it completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<String>, LineFault> {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > ANSWER_BYTES {
            return Err(LineFault::Answer);
        }
        let mut events = Vec::new();
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end])?;
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.line_ends(&line)?);
        }
        self.keep(rest)?;
        Ok(events)
    }

    /// The stream is over. What has no line end yet is a line all the same, as some servers leave the
    /// last one out; what has no end of its event is none.
    pub(super) fn end(&mut self) -> Result<Option<String>, LineFault> {
        if self.framing == Framing::Events || self.line.is_empty() {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.line);
        self.line_ends(&line)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), LineFault> {
        if self.line.len() + bytes.len() > LINE_BYTES {
            return Err(LineFault::Line);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line_ends(&mut self, line: &[u8]) -> Result<Option<String>, LineFault> {
        let line = std::str::from_utf8(line).map_err(|_| LineFault::Utf8)?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let event = match self.framing {
            Framing::Lines => (!line.trim().is_empty()).then(|| line.to_owned()),
            Framing::Events if line.is_empty() => {
                let data = std::mem::take(&mut self.data);
                (!data.is_empty()).then_some(data)
            }
            Framing::Events => {
                // Comments, names and ids say nothing that the data doesn't say.
                if let Some(data) = line.strip_prefix("data:") {
                    self.add(data.strip_prefix(' ').unwrap_or(data))?;
                }
                None
            }
        };
        if event.is_some() {
            self.events += 1;
            if self.events > EVENTS {
                return Err(LineFault::Events);
            }
        }
        Ok(event)
    }

    fn add(&mut self, data: &str) -> Result<(), LineFault> {
        if self.data.len() + data.len() >= LINE_BYTES {
            return Err(LineFault::Line);
        }
        if !self.data.is_empty() {
            self.data.push('\n');
        }
        self.data.push_str(data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_out_of_lines() {
        let mut lines = Lines::new(Framing::Events);
        let stream = b": hello\nevent: x\ndata: {\"a\":\ndata:1}\r\n\r\ndata: [DONE]\n\ndata: cut";
        let events = lines.push(stream).unwrap();
        assert_eq!(events, ["{\"a\":\n1}", "[DONE]"]);
        assert_eq!(lines.end(), Ok(None));
        let mut lines = Lines::new(Framing::Lines);
        assert_eq!(lines.push(b"{}\n\n{\"a\"").unwrap(), ["{}"]);
        assert_eq!(lines.push(b":1}").unwrap(), [""; 0]);
        assert_eq!(lines.end().unwrap().unwrap(), "{\"a\":1}");
    }

    /// N3: what has no end is not kept for ever.
    #[test]
    fn a_stream_is_bounded() {
        let mut lines = Lines::new(Framing::Events);
        let chunk = vec![b'x'; LINE_BYTES];
        assert_eq!(lines.push(&chunk), Ok(vec![]));
        assert_eq!(lines.push(b"x"), Err(LineFault::Line));
        let mut lines = Lines::new(Framing::Events);
        let mut fed = 0;
        let fault = loop {
            // Comments are no events, and count all the same.
            match lines.push(&[&b":"[..], &chunk[1..], b"\n"].concat()) {
                Ok(events) => assert!(events.is_empty()),
                Err(fault) => break fault,
            }
            fed += 1;
        };
        assert_eq!(fault, LineFault::Answer);
        assert!(fed < 17, "{fed}");
        let mut lines = Lines::new(Framing::Lines);
        let many = "1\n".repeat(usize::try_from(EVENTS).unwrap());
        assert!(lines.push(many.as_bytes()).is_ok());
        assert_eq!(lines.push(b"1\n"), Err(LineFault::Events));
        let mut lines = Lines::new(Framing::Events);
        assert_eq!(lines.push(b"data: \xff\n"), Err(LineFault::Utf8));
    }
}
