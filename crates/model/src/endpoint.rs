//! Where a provider is reached, and how it is spelled.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::wire::Wire;
use crate::{ModelName, Price};

/// The longest base URL.
const MAX_URL_BYTES: usize = 2_048;

/// A model of a provider, with everything that is pinned when its relay starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The model's full name.
    pub name: ModelName,
    /// The model, as the provider spells it.
    pub model: String,
    /// How the provider is spoken to.
    pub wire: Wire,
    /// Where it is.
    pub base: BaseUrl,
    /// How its key is found.
    pub key: KeySource,
    /// What its tokens cost; `None` where nobody knows.
    pub price: Option<Price>,
}

/// Where a key may lie. Nothing here is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySource {
    /// Variables that may hold it; the first that is set counts.
    pub variables: Vec<String>,
    /// The name that it is stored under.
    pub account: String,
    /// Whether nothing goes without one.
    pub need: KeyNeed,
}

/// Whether a provider wants a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyNeed {
    /// It does.
    Always,
    /// It takes one where there is one.
    Optional,
}

/// Which addresses may be spoken to without encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plain {
    /// This machine's own.
    Loopback,
    /// Any: the person said so.
    Anywhere,
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// `https`.
    Https,
    /// `http`, to these addresses.
    Http(Plain),
}

/// A checked base URL: no user, no query, no fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseUrl {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What stands before every path; empty, or beginning with `/` and not ending with it.
    pub prefix: String,
}

/// Why a text is no base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is none.
    #[error("`{}` is no base URL: {what}", deputize_authority::escape(.url))]
    Form {
        /// The text.
        url: String,
        /// What is wrong.
        what: &'static str,
    },
    /// It goes over the network in plain.
    #[error("`{}` would carry the key and the conversation over the network unencrypted", deputize_authority::escape(.url))]
    Insecure {
        /// The text.
        url: String,
    },
}

impl BaseUrl {
    /// Checks a base URL.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(url: &str, plain: Plain) -> Result<Self, UrlError> {
        let form = |what| UrlError::Form {
            url: url.to_owned(),
            what,
        };
        if url.len() > MAX_URL_BYTES {
            return Err(form("it is too long"));
        }
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| form("it has no scheme"))?;
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http(plain),
            _ => return Err(form("its scheme is neither https nor http")),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = host_and_port(authority).ok_or_else(|| form("its host is unclear"))?;
        let port = port.unwrap_or(match scheme {
            Scheme::Https => 443,
            Scheme::Http(_) => 80,
        });
        let path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
        if !path.bytes().all(path_byte) || path.contains("..") {
            return Err(form("its path has characters that no base has"));
        }
        let base = Self {
            scheme,
            host,
            port,
            prefix: path.trim_end_matches('/').to_owned(),
        };
        if base.scheme == Scheme::Http(Plain::Loopback) && !base.is_loopback() {
            return Err(UrlError::Insecure {
                url: url.to_owned(),
            });
        }
        Ok(base)
    }

    /// Whether it names this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let ip: Result<IpAddr, _> = self.host.parse();
        match ip {
            Ok(ip) => ip.is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Host and port as a `Host` header has them.
    #[must_use]
    pub fn authority(&self) -> String {
        let usual = match self.scheme {
            Scheme::Https => 443,
            Scheme::Http(_) => 80,
        };
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == usual {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http(_) => "http",
        };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

/// Takes `host`, `host:port`, `[v6]` and `[v6]:port` apart.
fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            let _: std::net::Ipv6Addr = host.parse().ok()?;
            (
                host,
                after.strip_prefix(':').or(after.is_empty().then_some("")),
            )
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let port = match port? {
        "" => None,
        port => Some(port.parse().ok().filter(|port| *port != 0)?),
    };
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:_".contains(&byte);
    let good = !host.is_empty() && host.len() <= 253 && host.bytes().all(named);
    good.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_taken_apart() {
        for (url, shown, port) in [
            ("https://api.example.com", "https://api.example.com", 443),
            ("https://a.b:8443/v1/", "https://a.b:8443/v1", 8443),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434", 11_434),
            ("http://localhost", "http://localhost", 80),
            ("http://[::1]:9/x", "http://[::1]:9/x", 9),
        ] {
            let base = BaseUrl::parse(url, Plain::Loopback).unwrap();
            assert_eq!((base.to_string().as_str(), base.port), (shown, port));
        }
    }

    /// N4: plain http goes to this machine only; nothing hides in a base URL.
    #[test]
    fn what_is_no_base_url_is_refused() {
        for url in [
            "api.example.com",
            "ftp://x",
            "https://",
            "https://user:pw@host",
            "https://host/?q=1",
            "https://host/#f",
            "https://host/../x",
            "https://host:0",
            "https://host:99999",
            "https://[::1",
            "https://[x]",
            "https://ho st",
            "https://host/a b",
        ] {
            let error = BaseUrl::parse(url, Plain::Loopback).unwrap_err();
            assert!(matches!(error, UrlError::Form { .. }), "{url}");
        }
        for url in [
            "http://example.com",
            "http://192.168.0.1:1",
            "http://127.0.0.1.example.com",
        ] {
            let error = BaseUrl::parse(url, Plain::Loopback).unwrap_err();
            assert!(matches!(error, UrlError::Insecure { .. }), "{url}");
            assert!(BaseUrl::parse(url, Plain::Anywhere).is_ok(), "{url}");
        }
    }
}
