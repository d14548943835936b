//! Owns what a URL on the command line means: whom to dial, which name to check on the
//! certificate, and which path to ask for. Called by `connect`; opens no connection.

use std::fmt;
use std::net::SocketAddr;

use url::Url;

use crate::error::Error;

/// The port of a URL that names none.
const DEFAULT_PORT: u16 = 443;

/// A relay or peer to dial.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Address {
    /// As the person wrote it, for messages.
    text: String,
    /// Name or address, IPv6 without its brackets.
    host: String,
    port: u16,
    /// `path?query` without its leading slash; empty for the root.
    path: String,
}

impl Address {
    /// Reads `https://host[:port]/[path][?query]`; `moqt://` and `moql://` mean the same.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |fix: &str| Error::Url {
            url: text.into(),
            fix: fix.into(),
        };
        let example = format!("write it like https://{}/", text.trim_end_matches('/'));
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) => return Err(wrong(&example)),
            Err(error) => return Err(wrong(&format!("{error}; write it like https://host:port/"))),
        };
        match url.scheme() {
            "https" | "moqt" | "moql" => {}
            "http" => return Err(wrong("plain http is not spoken here, write https://")),
            // `localhost:4443` parses as the scheme `localhost`.
            _ if !text.contains("://") => return Err(wrong(&example)),
            other => {
                return Err(wrong(&format!(
                    "{other}:// is not spoken here, write https://"
                )));
            }
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("it names no host"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "credentials go in the path or query, not before the host",
            ));
        }
        let mut path = url.path().trim_start_matches('/').to_owned();
        if let Some(query) = url.query() {
            path = format!("{path}?{query}");
        }
        Ok(Self {
            text: text.into(),
            host: host.trim_start_matches('[').trim_end_matches(']').into(),
            port: url.port().unwrap_or(DEFAULT_PORT),
            path,
        })
    }

    /// The name the certificate must be for.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What the session asks for, if not the root.
    pub(crate) fn path(&self) -> Option<String> {
        (!self.path.is_empty()).then(|| self.path.clone())
    }

    /// Asks the system's resolver. Never empty.
    pub(crate) async fn resolve(&self) -> Result<Vec<SocketAddr>, Error> {
        let unresolved = |cause: String| Error::Resolve {
            host: self.host.clone(),
            cause,
        };
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let found: Vec<_> = found
            .map_err(|error| unresolved(error.to_string()))?
            .collect();
        if found.is_empty() {
            return Err(unresolved("the name has no address".into()));
        }
        Ok(found)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(text: &str) -> String {
        Address::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_url_gives_host_port_and_path() {
        let address = Address::parse("https://relay.example:4443/room/a?jwt=x#frag").unwrap();
        assert_eq!((address.host(), address.port), ("relay.example", 4443));
        assert_eq!(address.path().as_deref(), Some("room/a?jwt=x"));
    }

    #[test]
    fn the_root_is_no_path_and_the_port_has_a_default() {
        for text in [
            "https://relay.example",
            "https://relay.example/",
            "moqt://relay.example",
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.port, address.path()), (443, None), "{text}");
        }
    }

    #[test]
    fn an_ipv6_host_loses_its_brackets() {
        for scheme in ["https", "moql"] {
            let address = Address::parse(&format!("{scheme}://[::1]:4443/")).unwrap();
            assert_eq!(address.host(), "::1");
        }
    }

    #[test]
    fn a_refused_url_says_how_to_write_it() {
        assert!(fix("127.0.0.1:4443").contains("https://127.0.0.1:4443/"));
        assert!(fix("localhost:4443").contains("https://localhost:4443/"));
        assert!(fix("relay").contains("https://relay/"));
        assert!(fix("http://relay/").contains("https://"));
        assert!(fix("ftp://relay/").contains("ftp"));
        assert!(fix("https://user:pass@relay/").contains("credentials"));
        assert!(fix("https://relay:99999/").contains("port"));
        assert!(fix("moqt:///x").contains("host"));
        assert!(fix("").contains("https://"));
    }

    #[tokio::test]
    async fn a_literal_address_needs_no_resolver() {
        let address = Address::parse("https://127.0.0.1:4443/").unwrap();
        assert_eq!(
            address.resolve().await.unwrap(),
            ["127.0.0.1:4443".parse().unwrap()]
        );
    }
}
