//! Parses URLs of the form `https://host:port/path`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use http::Uri;

use crate::root::decode_name;

/// Default port of HTTP/3 (RFC 9114 section 3.1).
const PORT: u16 = 443;

/// A URL that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// DNS name or address. An IPv6 address has no brackets.
    pub host: String,
    /// UDP port.
    pub port: u16,
    /// Host and port as in the URL.
    pub authority: String,
    /// Path and query. At least `/`.
    pub path: String,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// A message with the mistake and the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{text}: {what}; write https://host:port/path");
        let uri: Uri = text.parse().map_err(|error| wrong(&format!("{error}")))?;
        if uri.scheme_str() != Some("https") {
            return Err(wrong("only https URLs can be fetched"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("the host is missing"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("a user name is not allowed"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        // The parser returns no port if the port is too large, so it is parsed here.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => Some(PORT),
            rest => rest.and_then(|rest| rest.strip_prefix(':')?.parse().ok()).filter(|port| *port > 0),
        };
        let port = port.ok_or_else(|| wrong("the port must be 1 to 65535"))?;
        if host.is_empty() {
            return Err(wrong("the host is missing"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }

    /// Returns the last segment of the path as a file name, or `None` if it is not a valid name.
    pub fn file_name(&self) -> Option<OsString> {
        let path = self.path.split(['?', '#']).next()?;
        let name = decode_name(path.rsplit('/').next()?).ok()?;
        Some(OsString::from_vec(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url = Url::parse("https://example.com:4433/a/b%20c?x=1/2").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("example.com", 4433));
        assert_eq!((url.authority.as_str(), url.path.as_str()), ("example.com:4433", "/a/b%20c?x=1/2"));
        assert_eq!(url.file_name(), Some("b c".into()));
        let url = Url::parse("https://[::1]").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("::1", 443, "/"));
        assert_eq!((url.authority.as_str(), url.file_name()), ("[::1]", None));
        for path in ["/", "/a/", "/a/..", "/a/%2e%2e", "/a%2fb", "/a%00"] {
            let url = Url::parse(&format!("https://h{path}")).unwrap();
            assert_eq!(url.file_name(), None, "{path}");
        }
        for text in
            ["", "h", "h/a", "http://h/a", "https:///a", "https://h:0/", "https://h:99999/", "https://h:x/"]
        {
            assert!(Url::parse(text).is_err(), "{text}");
        }
        for text in ["https://u:p@h/a", "https://u@h/", "https://h/a b"] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
