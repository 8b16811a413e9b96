//! Requests to the control socket with any method and any fields. This module asserts nothing.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: String,
}

impl ApiAnswer {
    /// A field, by its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The type of an error response.
    pub fn problem(&self) -> String {
        self.json()["type"].as_str().unwrap().trim_start_matches("/problems/").to_owned()
    }
}

/// A control socket for requests.
#[derive(Clone, Debug)]
pub struct ApiSocket(PathBuf);

impl ApiSocket {
    pub fn at(path: &Path) -> ApiSocket {
        ApiSocket(path.to_owned())
    }

    /// Sends a request. Returns an error if the daemon ends before it has answered.
    pub fn try_ask(
        &self,
        line: &str,
        fields: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<ApiAnswer> {
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut text = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in fields {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let cut = || std::io::Error::new(std::io::ErrorKind::UnexpectedEof, answer.clone());
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut)?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.get(9..12)?.parse().ok()).ok_or_else(cut)?;
        let fields = lines.filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(key, value)| (key.to_lowercase(), value.to_owned())).collect();
        Ok(ApiAnswer { status, fields, body: body.to_owned() })
    }

    /// As `try_ask`, for requests that must be answered.
    pub fn ask(&self, line: &str, fields: &[(&str, &str)], body: &str) -> ApiAnswer {
        self.try_ask(line, fields, body).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// The text of the active configuration and its entity tag.
    pub fn config(&self) -> (String, String) {
        let answer = self.ask("GET /v1/config?written=true", &[], "");
        let tag = answer.field("etag").unwrap().to_owned();
        (answer.body, tag)
    }
}

pub const PATCH: (&str, &str) = ("content-type", "application/merge-patch+json");
pub const TOML: (&str, &str) = ("content-type", "application/toml");
