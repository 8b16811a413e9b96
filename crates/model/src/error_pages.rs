//! The error pages of a service as workers send them: which page answers a status, with its fields and body.
//!
//! The daemon reads the files; here their contents become pages.

mod http_file;
mod page_fields;

use std::sync::Arc;

use crate::config::{ErrorPageConfig, ErrorPageContent, StatusRanges};
use http_file::HttpFile;
pub use http_file::HttpFileError;
pub use page_fields::{has_field, without_body_fields, without_repeated};

/// Bytes of a page's file.
/// A page with its style fits, and a client of 56 kbit/s has it in ten seconds.
pub const MAX_PAGE_BYTES: u64 = 64 * 1024;

/// Bytes of all files of error pages of one configuration.
/// Sixteen of the largest.
pub const MAX_TOTAL_BYTES: u64 = 1024 * 1024;

/// Statuses without a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5).
const BODYLESS: [u16; 3] = [204, 205, 304];

/// The pages of a service, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorPages {
    pub pages: Vec<ErrorPage>,
}

/// A page, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    statuses: StatusRanges,
    /// Whether it replaces servers' answers too.
    intercepts: bool,
    /// The client's status, if it differs from that of the error.
    client_status: Option<u16>,
    /// Field lines, each with its end.
    pub lines: Vec<u8>,
    /// The file or text, shared by all pages that are made of it.
    source: Arc<[u8]>,
    /// Where the body begins in it.
    body_from: usize,
}

impl ErrorPages {
    /// The page for an answer of the balancer itself with this status.
    pub fn find(&self, status: u16) -> Option<&ErrorPage> {
        self.pages.iter().find(|page| page.statuses.contains(status))
    }

    /// The page in the place of a server's answer with this status.
    pub fn find_intercepting(&self, status: u16) -> Option<&ErrorPage> {
        self.find(status).filter(|page| page.intercepts)
    }
}

impl ErrorPage {
    /// The page of a configuration; `file`: the content of its file, empty if it has none.
    ///
    /// # Errors
    /// The head of a file with `format = "http"` is malformed.
    pub fn new(config: &ErrorPageConfig, file: &Arc<[u8]>) -> Result<ErrorPage, HttpFileError> {
        let mut lines = Vec::new();
        let mut client_status = config.client_status;
        let mut write_type = |content_type: &str| {
            for part in ["Content-Type: ", content_type, "\r\n"] {
                lines.extend_from_slice(part.as_bytes());
            }
        };
        let mut body_from = 0;
        let source: Arc<[u8]> = match &config.content {
            ErrorPageContent::Empty => Arc::default(),
            ErrorPageContent::Text { body, content_type } => {
                write_type(content_type);
                body.as_bytes().into()
            }
            ErrorPageContent::File { content_type, .. } => {
                write_type(content_type);
                file.clone()
            }
            ErrorPageContent::HttpFile(_) => {
                let parsed = HttpFile::parse(file)?;
                client_status = client_status.or(Some(parsed.status));
                lines = parsed.lines;
                body_from = file.len() - parsed.body.len();
                file.clone()
            }
        };
        let mut headers = Vec::new();
        for field in &config.headers {
            let (name, value) = field.split_once(':').unwrap_or((field, ""));
            for part in [name, ": ", value.trim(), "\r\n"] {
                headers.extend_from_slice(part.as_bytes());
            }
        }
        lines = page_fields::without_repeated(&lines, &headers);
        lines.extend_from_slice(&headers);
        let has_no_body = client_status.is_some_and(|status| BODYLESS.contains(&status));
        if has_no_body {
            body_from = source.len();
        }
        let statuses = config.status.clone();
        let intercepts = config.intercept;
        Ok(ErrorPage { statuses, intercepts, client_status, lines, source, body_from })
    }

    /// The status that the client gets for an error with this one.
    pub fn client_status(&self, status: u16) -> u16 {
        self.client_status.unwrap_or(status)
    }

    pub fn body(&self) -> &[u8] {
        self.source.get(self.body_from..).unwrap_or_default()
    }

    /// The fields of the page, and of those `beside` what neither describes another body nor repeats a field of the page.
    /// A page is not cached unless it has a Cache-Control of its own.
    pub fn lines_with(&self, beside: &[u8]) -> Vec<u8> {
        let caching: &[u8] = match page_fields::has_field(&self.lines, "cache-control") {
            true => b"",
            false => b"Cache-Control: no-store\r\n",
        };
        let beside = without_body_fields(beside);
        let beside = page_fields::without_repeated(&beside, &self.lines);
        [&self.lines, caching, &beside].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn page(text: &str) -> ErrorPageConfig {
        let whole = format!(
            "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\n\
             error-page = [{{ {text} }}]\n[pool.p]\nservers = [\"127.0.0.1:81\"]\n"
        );
        let config = load(&whole, "f").unwrap_or_else(|error| panic!("{error}")).config;
        config.services["s"].error_pages[0].clone()
    }

    #[test]
    fn a_page_has_the_status_fields_and_body_of_its_settings() {
        for (text, file, status, lines, body) in [
            ("status = 503, file = \"/a\"", "<p>", 503, "Content-Type: text/html\r\n", "<p>"),
            (
                "status = 503, body = \"x\", type = \"text/plain\", as = 200, headers = [\"A: b\"]",
                "",
                200,
                "Content-Type: text/plain\r\nA: b\r\n",
                "x",
            ),
            (
                "status = 503, as = 302, headers = [\"Location: /x\"]",
                "",
                302,
                "Location: /x\r\n",
                "",
            ),
            (
                "status = 503, file = \"/a\", format = \"http\", headers = [\"A: b\"]",
                "HTTP/1.0 500 x\r\nB: c\r\n\r\nbody",
                500,
                "B: c\r\nA: b\r\n",
                "body",
            ),
            (
                "status = 503, file = \"/a\", format = \"http\", headers = [\"content-type: a/b\", \"Set-Cookie: a=1\"]",
                "HTTP/1.0 500 x\r\nContent-Type: c/d\r\nSet-Cookie: b=2\r\n\r\nbody",
                500,
                "Set-Cookie: b=2\r\ncontent-type: a/b\r\nSet-Cookie: a=1\r\n",
                "body",
            ),
            (
                "status = 503, body = \"x\", headers = [\"Content-Type: a/b\"]",
                "",
                503,
                "Content-Type: a/b\r\n",
                "x",
            ),
            (
                "status = 503, file = \"/a\", as = 204",
                "<p>",
                204,
                "Content-Type: text/html\r\n",
                "",
            ),
            (
                "status = 503, file = \"/a\", format = \"http\", as = 404",
                "HTTP/1.0 500 x\n\nbody",
                404,
                "",
                "body",
            ),
        ] {
            let page = ErrorPage::new(&page(text), &file.as_bytes().into()).unwrap();
            assert_eq!(page.client_status(503), status, "{text}");
            assert_eq!(String::from_utf8_lossy(&page.lines), lines, "{text}");
            assert_eq!(String::from_utf8_lossy(page.body()), body, "{text}");
        }
    }

    #[test]
    fn the_first_page_of_a_status_counts() {
        let made = |text: &str| ErrorPage::new(&page(text), &Arc::default()).unwrap();
        let pages = ErrorPages {
            pages: vec![
                made("status = [502, \"504-510\"], body = \"first\""),
                made("status = \"500-599\", body = \"second\", intercept = true"),
            ],
        };
        let body = |page: Option<&ErrorPage>| page.map(|page| page.body().to_vec());
        for (status, found, intercepting) in [
            (502, Some("first"), None),
            (503, Some("second"), Some("second")),
            (505, Some("first"), None),
            (404, None, None),
        ] {
            let want = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
            assert_eq!(body(pages.find(status)), want(found), "{status}");
            assert_eq!(body(pages.find_intercepting(status)), want(intercepting), "{status}");
        }
    }

    #[test]
    fn one_type_and_one_cache_control_go_out_with_a_page() {
        let beside = "content-type: application/json\r\nCache-Control: max-age=9\r\nRetry-After: 7\r\nX-A: 1\r\n";
        for (text, want) in [
            (
                "status = 503, body = \"x\"",
                "Content-Type: text/html\r\nCache-Control: no-store\r\nRetry-After: 7\r\nX-A: 1\r\n",
            ),
            (
                "status = 503, body = \"x\", headers = [\"cache-control: no-cache\", \"Retry-After: 2\"]",
                "Content-Type: text/html\r\ncache-control: no-cache\r\nRetry-After: 2\r\nX-A: 1\r\n",
            ),
            (
                "status = 503, as = 302, headers = [\"Location: /x\"]",
                "Location: /x\r\nCache-Control: no-store\r\nRetry-After: 7\r\nX-A: 1\r\n",
            ),
        ] {
            let page = ErrorPage::new(&page(text), &Arc::default()).unwrap();
            let lines = page.lines_with(beside.as_bytes());
            assert_eq!(String::from_utf8_lossy(&lines), want, "{text}");
        }
    }
}
